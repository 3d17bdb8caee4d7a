import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ask, at, KEY, NODES, node, RANKED } from '../../../testing/routes.ts';
import { seededRandom } from '../../base/clock.ts';
import { rank } from './hrw.ts';
import { decideRoute, MAX_HOPS, type RouteNode, type RouteQuestion } from './route.ts';

/** Counts how often each node is asked, by name, over many requests. */
function asked(part: Partial<RouteQuestion<RouteNode>>): Map<string, number> {
  const counts = new Map<string, number>();
  const random = seededRandom(2);
  for (let i = 0; i < 600; i++) {
    const route = ask({ random, ...part });
    const name = route.to === 'origin' ? 'origin' : route.peer.name;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

describe('the first hop', () => {
  test('a node alone asks the origin', () => {
    const self = node('alone');
    expect(ask({ self, nodes: [self] })).toEqual({ to: 'origin' });
    expect(ask({ self, nodes: [self], hops: 1 })).toEqual({ to: 'origin' });
  });

  test('spreads requests evenly over the replicas, and over them only', () => {
    const counts = asked({ replicas: 3 });
    expect(new Set(counts.keys())).toEqual(new Set([at(0).name, at(1).name, at(2).name]));
    for (const count of counts.values()) expect(Math.abs(count - 200)).toBeLessThan(50);
  });

  test('goes to the most responsible node if there is one replica', () => {
    expect([...asked({ replicas: 1 }).keys()]).toEqual([at(0).name]);
  });

  test('passes over busy replicas', () => {
    const nodes = NODES.map((n) => (n === at(0) || n === at(2) ? { ...n, load: 1 } : n));
    const self = nodes.find((n) => n.name === at(7).name) as RouteNode;
    expect([...asked({ nodes, self }).keys()]).toEqual([at(1).name]);
  });

  test('a chunk is not kept by a node where it only enters the network', () => {
    expect(ask({ replicas: 1 })).toEqual({ to: 'peer', peer: at(0), keep: false });
  });

  test('a chunk is kept by a node that is the chosen replica itself', () => {
    const self = at(1);
    const route = ask({ self, random: () => 0.5 });
    expect(rank(KEY, NODES, 3)[1]).toBe(self);
    expect(route).toEqual({ to: 'peer', peer: at(0), keep: true });
  });

  test('the most responsible node asks no replica, which could only ask the second best', () => {
    for (const chance of [0, 0.5, 0.9]) {
      expect(ask({ self: at(0), random: () => chance })).toEqual({ to: 'origin' });
    }
  });

  test('heavier nodes get more requests', () => {
    const nodes = [node('self'), node('heavy', 0, 50), node('light')];
    const counts = new Map<string, number>();
    for (let i = 0; i < 300; i++) {
      const route = ask({ key: `k${i}`, nodes, self: nodes[0] as RouteNode, replicas: 1 });
      const name = route.to === 'origin' ? 'origin' : route.peer.name;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    expect(counts.get('heavy')).toBeGreaterThan(250);
  });
});

describe('the second hop', () => {
  test('the most responsible node asks the origin', () => {
    expect(ask({ self: at(0), hops: 1 })).toEqual({ to: 'origin' });
  });

  test('another replica asks the most responsible node, and keeps the chunk', () => {
    expect(ask({ self: at(1), hops: 1 })).toEqual({ to: 'peer', peer: at(0), keep: true });
  });

  test('load does not matter: one node alone fetches from the origin', () => {
    const busy = { ...at(0), load: 1000 };
    const nodes = NODES.map((n) => (n.name === busy.name ? busy : n));
    expect(ask({ nodes, self: at(1), hops: 1 })).toEqual({ to: 'peer', peer: busy, keep: true });
  });

  test('after the last hop only the origin is asked', () => {
    expect(ask({ self: at(5), hops: 2 })).toEqual({ to: 'origin' });
    expect(ask({ self: at(5), hops: 99 })).toEqual({ to: 'origin' });
    expect(ask({ hops: 0, maxHops: 0 })).toEqual({ to: 'origin' });
  });

  test('a request that may take more hops does', () => {
    const route = ask({ self: at(5), hops: 2, maxHops: 10 });
    expect(route).toEqual({ to: 'peer', peer: at(0), keep: true });
    expect(ask({ self: at(5), hops: 10, maxHops: 10 })).toEqual({ to: 'origin' });
  });
});

describe('nodes to avoid', () => {
  test('the next best node replaces one that was tried without success', () => {
    const avoid = new Set([at(0).name]);
    expect(new Set(asked({ avoid, replicas: 2 }).keys())).toEqual(
      new Set([at(1).name, at(2).name]),
    );
    const route = ask({ self: at(5), hops: 1, avoid });
    expect(route).toEqual({ to: 'peer', peer: at(1), keep: true });
    expect(ask({ self: at(1), hops: 1, avoid })).toEqual({ to: 'origin' });
  });

  test('with no node left, the origin is asked', () => {
    const avoid = new Set(NODES.map((n) => n.name));
    expect(ask({ avoid })).toEqual({ to: 'origin' });
    expect(ask({ avoid, hops: 1 })).toEqual({ to: 'origin' });
  });
});

describe('a whole path', () => {
  /** Follows a request from node to node; `view` gives the nodes that each knows. */
  function follow(
    start: RouteNode,
    view: (self: RouteNode) => RouteNode[],
    part: { key: string; seed: number; maxHops: number; replicas: number },
  ): string[] {
    const random = seededRandom(part.seed);
    const path = [start];
    for (;;) {
      const self = path.at(-1) as RouteNode;
      const avoid = new Set(path.map((n) => n.name));
      const hops = path.length - 1;
      const route = decideRoute({
        ...part,
        self,
        nodes: view(self),
        hearsay: [],
        hops,
        avoid,
        random,
      });
      if (route.to === 'origin') return path.map((n) => n.name);
      path.push(route.peer);
    }
  }

  const request = fc.record({
    key: fc.nat().map((n) => `https://example.com/a,start=${n},end=${n}`),
    seed: fc.integer(),
    maxHops: fc.constantFrom(MAX_HOPS, 10),
    replicas: fc.integer({ min: 1, max: 12 }),
  });

  test('if all nodes know each other, each chunk leaves the origin through one node', () => {
    fc.assert(
      fc.property(fc.nat(NODES.length - 1), request, (from, part) => {
        const path = follow(NODES[from] as RouteNode, () => NODES, part);
        const [best] = rank(part.key, NODES, 1) as [RouteNode];
        // A request that begins at the best node itself goes straight to the origin.
        if (NODES[from] !== best) expect(path.at(-1)).toBe(best.name);
        expect(path.length).toBeLessThanOrEqual(3);
      }),
    );
  });

  test('if views differ, a path ends at the origin and meets no node twice', () => {
    const known = fc.array(fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), {
      minLength: 8,
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.nat(NODES.length - 1), known, request, (from, knows, part) => {
        const view = (self: RouteNode) =>
          NODES.filter((n, i) => n === self || knows[NODES.indexOf(self)]?.[i]);
        const path = follow(NODES[from] as RouteNode, view, part);
        expect(new Set(path).size).toBe(path.length);
        expect(path.length - 1).toBeLessThanOrEqual(part.maxHops);
      }),
    );
  });
});

describe('a retry that would end at the origin', () => {
  const avoid = new Set([at(0).name]);
  const retry = { self: at(4), hops: 1, plainKey: KEY, isRetry: true, avoid };
  /** A key for which this node is the best. */
  const salted = (self: RouteNode) => {
    for (let i = 0; ; i++) if (rank(`${KEY}${i}`, NODES, 1)[0] === self) return `${KEY}${i}`;
  };

  test('first asks the best other node by the plain name for what it has', () => {
    const route = ask({ ...retry, key: salted(at(4)) });
    expect(route).toEqual({ to: 'peer', peer: at(1), keep: true, ifHeld: true });
  });

  test('asks a far node if that is the best', () => {
    const split = { nodes: RANKED.slice(2), far: () => [at(1)] };
    const route = ask({ ...retry, ...split, key: salted(at(4)), hops: MAX_HOPS + 1 });
    expect(route).toMatchObject({ peer: at(1), ifHeld: true });
  });

  test('goes to the best node by its own name as long as that is another one', () => {
    const route = ask({ ...retry, key: salted(at(6)) });
    expect(route).toEqual({ to: 'peer', peer: at(6), keep: true });
  });

  test('goes to the origin if no other node is left, or the hops are used up', () => {
    const self = at(4);
    expect(ask({ ...retry, self, nodes: [self] })).toEqual({ to: 'origin' });
    const last = { ...retry, key: salted(self), hops: MAX_HOPS + 2 };
    expect(ask(last)).toEqual({ to: 'origin' });
  });
});

describe('a first request that would end at the origin', () => {
  const first = { self: at(1), nodes: RANKED.slice(1), hops: 1, plainKey: KEY };
  const held = { to: 'peer', peer: at(2), keep: true, ifHeld: true };

  test('goes there at once if this node is the best of all it knows', () => {
    expect(ask(first)).toEqual({ to: 'origin' });
    expect(ask({ ...first, lost: () => [at(3)] })).toEqual({ to: 'origin' });
  });

  test('asks the next best for what it has if this node has lost a better one', () => {
    expect(ask({ ...first, lost: () => [at(0)] })).toEqual(held);
    expect(ask({ ...first, hops: 0, replicas: 1, lost: () => [at(0)] })).toEqual(held);
  });

  test('asks the next best if this node avoids a better one, near or far', () => {
    const avoid = new Set([at(0).name]);
    expect(ask({ ...first, nodes: RANKED, avoid })).toEqual(held);
    expect(ask({ ...first, far: () => [at(0)], avoid })).toEqual(held);
  });

  test('goes there if nobody is left to ask, or the next best has said that it has nothing', () => {
    const lost = () => [at(0)];
    expect(ask({ ...first, nodes: [at(1)], lost })).toEqual({ to: 'origin' });
    expect(ask({ ...first, plainKey: undefined, lost })).toEqual({ to: 'origin' });
    expect(ask({ ...first, hops: MAX_HOPS + 2, lost })).toEqual({ to: 'origin' });
  });
});
