import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../base/clock.ts';
import { hashText, rank } from './hrw.ts';
import { decideRoute, MAX_HOPS, type Route, type RouteNode, type RouteQuestion } from './route.ts';

const KEY = 'https://example.com/file.iso,start=0,end=999999';

const node = (name: string, load = 0, weight = 1): RouteNode => ({
  name,
  seed: hashText(name),
  weight,
  load,
});
const NODES = Array.from({ length: 8 }, (_, i) => node(`edge-${i}`));
/** All nodes, the one most responsible for the chunk first. */
const RANKED = rank(KEY, NODES, NODES.length);
const at = (place: number) => RANKED[place] as RouteNode;

function ask(part: Partial<RouteQuestion<RouteNode>>): Route<RouteNode> {
  return decideRoute({
    key: KEY,
    self: at(7),
    nodes: NODES,
    hearsay: [],
    hops: 0,
    maxHops: MAX_HOPS,
    replicas: 3,
    avoid: new Set(),
    random: seededRandom(1),
    ...part,
  });
}

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

describe('a node that only others can reach', () => {
  const seen = NODES.filter((n) => n !== at(0));
  const hearsay = [{ ...at(0), through: [at(5), at(3)] }];
  const blind = { nodes: seen, hearsay, replicas: 1 };

  test('is asked through the most responsible of them', () => {
    expect(ask(blind)).toEqual({ to: 'peer', peer: at(3), keep: false });
    expect(ask({ ...blind, avoid: new Set([at(3).name]) })).toMatchObject({ peer: at(5) });
  });

  test('keeps the node that is second from taking itself for the first', () => {
    expect(ask({ ...blind, self: at(1) })).toEqual({ to: 'peer', peer: at(3), keep: false });
    expect(ask({ ...blind, self: at(1), hearsay: [] })).toEqual({ to: 'origin' });
  });

  test('is left out if there is no way to it, or it was asked without success', () => {
    const noWay = { ...blind, avoid: new Set([at(3).name, at(5).name]) };
    expect(ask(noWay)).toMatchObject({ peer: at(1) });
    expect(ask({ ...blind, avoid: new Set([at(0).name]) })).toMatchObject({ peer: at(1) });
  });

  test('is not asked if the hops would not suffice', () => {
    expect(ask({ ...blind, hops: 1, maxHops: 2 })).toMatchObject({ peer: at(1) });
    expect(ask({ ...blind, hops: 1, maxHops: 3 })).toMatchObject({ peer: at(3) });
    expect(ask({ ...blind, hops: 0, maxHops: 1 })).toMatchObject({ peer: at(1) });
  });
});

describe('nodes too far to be peers', () => {
  /** The best two are far from the others, which are peers of each other. */
  const near = RANKED.slice(2);
  const far = () => RANKED.slice(0, 2);

  test('are asked by the best node near by before the origin', () => {
    const route = ask({ self: at(2), nodes: near, far, hops: 1 });
    expect(route).toEqual({ to: 'peer', peer: at(0), keep: true });
  });

  test('are not asked while there is a better node near by', () => {
    const route = ask({ self: at(5), nodes: near, far, hops: 1 });
    expect(route).toEqual({ to: 'peer', peer: at(2), keep: true });
  });

  test('and near ones are asked when the hops between peers are used up, but no further', () => {
    expect(ask({ self: at(5), nodes: near, far, hops: MAX_HOPS })).toEqual({
      to: 'peer',
      peer: at(0),
      keep: true,
    });
    const known = { self: at(5), nodes: RANKED.filter((n) => n !== at(1)), far: () => [at(1)] };
    expect(ask({ ...known, hops: MAX_HOPS })).toMatchObject({ peer: at(0) });
    expect(ask({ ...known, hops: MAX_HOPS + 1 })).toMatchObject({ peer: at(0) });
    expect(ask({ ...known, hops: MAX_HOPS + 2 })).toEqual({ to: 'origin' });
  });

  test('are passed over if they were tried without success', () => {
    const tried = { self: at(2), nodes: near, far, hops: 1 };
    expect(ask({ ...tried, avoid: new Set([at(0).name]) })).toMatchObject({ peer: at(1) });
    const both = new Set([at(0).name, at(1).name]);
    expect(ask({ ...tried, avoid: both })).toEqual({ to: 'origin' });
  });

  test('the best of all asks the origin', () => {
    expect(ask({ self: at(0), nodes: [at(0)], far: () => near })).toEqual({ to: 'origin' });
  });
});

describe('nodes that only others can reach, near or far', () => {
  const seen = NODES.filter((n) => n !== at(0));
  const rumours = (through: RouteNode[], nodes = [at(0)]) => ({
    far: () => [],
    rumours: () => ({ nodes, through: () => through }),
  });
  const second = { self: at(1), nodes: seen, hops: 1 };

  test('are asked, before the origin, through the most responsible node that can reach them', () => {
    const route = ask({ ...second, ...rumours([at(5), at(3), at(6)]) });
    expect(route).toEqual({ to: 'peer', peer: at(3), keep: true });
  });

  test('are left alone while this node or another that it can reach is better', () => {
    const worst = rumours([at(3), at(5)], [at(7)]);
    expect(ask({ ...second, ...worst })).toEqual({ to: 'origin' });
    expect(ask({ ...second, ...worst, self: at(4), hops: MAX_HOPS })).toMatchObject({
      peer: at(1),
    });
  });

  test('are left alone if a single node says that it can reach them', () => {
    expect(ask({ ...second, ...rumours([at(3)]) })).toEqual({ to: 'origin' });
  });

  test('are left alone if they, or all that can reach them, are to be avoided', () => {
    const through = rumours([at(3), at(5)]);
    const avoid = (...nodes: RouteNode[]) => new Set(nodes.map(({ name }) => name));
    expect(ask({ ...second, ...through, avoid: avoid(at(0)) })).toEqual({ to: 'origin' });
    expect(ask({ ...second, ...through, avoid: avoid(at(3), at(5)) })).toEqual({ to: 'origin' });
    expect(ask({ ...second, ...through, avoid: avoid(at(3)) })).toMatchObject({ peer: at(5) });
  });

  test('are left alone if the request could not be forwarded to them any more', () => {
    const through = rumours([at(3), at(5)]);
    expect(ask({ ...second, ...through, hops: MAX_HOPS })).toMatchObject({ peer: at(3) });
    expect(ask({ ...second, ...through, hops: MAX_HOPS + 1 })).toEqual({ to: 'origin' });
  });

  test('are passed over for the next best if nobody can reach them any more', () => {
    const nodes = [at(0), at(1)];
    const through = (name: string) => (name === at(0).name ? [] : [at(4), at(6)]);
    const route = ask({
      ...{ self: at(2), nodes: RANKED.slice(2), hops: 1, far: () => [] },
      rumours: () => ({ nodes, through }),
    });
    expect(route).toMatchObject({ peer: at(4) });
  });

  test('are asked about after a bounded number of others only', () => {
    let questions = 0;
    const through = () => {
      questions++;
      return [];
    };
    const route = ask({
      ...{ self: at(7), nodes: [at(7)], hops: 1, far: () => [] },
      rumours: () => ({ nodes: RANKED.slice(0, 7), through }),
    });
    expect(route).toEqual({ to: 'origin' });
    expect(questions).toBe(3);
  });
});

describe('a retry that would end at the origin', () => {
  const retry = { self: at(4), hops: 1, plainKey: KEY, avoid: new Set([at(0).name]) };
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

test('with rumours and far nodes too, a path ends at the origin and meets no node twice', () => {
  const matrix = fc.array(fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), {
    minLength: 8,
    maxLength: 8,
  });
  const chunk = fc.nat().map((n) => `https://example.com/a,start=${n},end=${n}`);
  fc.assert(
    fc.property(
      fc.nat(7),
      matrix,
      matrix,
      chunk,
      fc.boolean(),
      (from, peers, known, key, retry) => {
        const reaches = (who: boolean[][]) => (a: RouteNode, b: RouteNode) =>
          who[NODES.indexOf(a)]?.[NODES.indexOf(b)] === true;
        const [isPeer, isKnown] = [reaches(peers), reaches(known)];
        const path = [NODES[from] as RouteNode];
        for (;;) {
          const self = path.at(-1) as RouteNode;
          const others = NODES.filter((n) => n !== self);
          const route = decideRoute({
            ...{ key, self, hearsay: [], hops: path.length - 1, maxHops: MAX_HOPS, replicas: 3 },
            nodes: [self, ...others.filter((n) => isPeer(self, n))],
            far: () => others.filter((n) => isKnown(self, n) && !isPeer(self, n)),
            rumours: () => ({
              nodes: others.filter((n) => !isKnown(self, n) && !isPeer(self, n)),
              through: (name) =>
                others.filter(
                  (n) =>
                    (isKnown(self, n) || isPeer(self, n)) &&
                    NODES.some((to) => to.name === name && isPeer(n, to)),
                ),
            }),
            plainKey: retry ? `${key}plain` : undefined,
            avoid: new Set(path.map(({ name }) => name)),
            random: seededRandom(1),
          });
          // A node that is asked for what it has asks no other.
          if (route.to === 'origin' || route.ifHeld) break;
          path.push(route.peer);
        }
        expect(new Set(path).size).toBe(path.length);
        expect(path.length - 1).toBeLessThanOrEqual(MAX_HOPS + 2);
      },
    ),
  );
});
