/** Routes to nodes that this node cannot reach, or that are too far to be its peers. */

import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ask, at, NODES, RANKED } from '../../../testing/routes.ts';
import { seededRandom } from '../../base/clock.ts';
import { decideRoute, MAX_HOPS, type RouteNode } from './route.ts';

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
