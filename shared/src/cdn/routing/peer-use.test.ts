import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashText } from './hrw.ts';
import { PeerUse } from './peer-use.ts';

const node = (name: string) => ({ name, seed: hashText(name) });
const nodes = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, i) => node(`${prefix}${i}`));
const seen = (name: string, weight = 1) => [name, weight] as const;
const others = (count: number) => nodes(count, 'other').map(({ name }) => seen(name));
const HUB = node('hub');

/** Each of `users` nodes has `peers` peers: the hub and others. */
function used(users: number, peers: number) {
  const use = new PeerUse();
  const all = nodes(users, 'user');
  for (const user of all) use.onTold(user, [seen(HUB.name), ...others(peers - 1)]);
  const placed = () => all.filter((user) => use.isOpen(user, HUB)).map(({ name }) => name);
  return { use, all, placed };
}

describe('places at a node', () => {
  test('a node that no other has reported is open', () => {
    expect(new PeerUse().isOpen(node('a'), HUB)).toBe(true);
  });

  test('every node has one if all are peers of all, however many there are', () => {
    const { placed } = used(120, 120);
    expect(placed()).toHaveLength(120);
  });

  test('of three times as many users as a node should serve, 1.1 times as many as it should serve have one', () => {
    const { placed } = used(360, 119);
    expect(placed()).toHaveLength(132);
  });

  test('nodes with few peers send more to each, and take more of the places', () => {
    const { placed } = used(360, 59);
    expect(placed()).toHaveLength(66);
  });

  test('the same nodes have one whatever node reports first', () => {
    const { all, placed } = used(200, 59);
    const backwards = new PeerUse();
    for (const user of [...all].reverse()) backwards.onTold(user, [seen(HUB.name), ...others(58)]);
    const there = all.filter((user) => backwards.isOpen(user, HUB)).map(({ name }) => name);
    expect(there).toEqual(placed());
  });

  test('a newcomer early in the order gets one at a full node, and the last user loses it', () => {
    const { use, placed } = used(360, 119);
    const before = placed();
    const newcomer = nodes(100, 'new').find((one) => use.isOpen(one, HUB));
    expect(newcomer).toBeDefined();
    if (newcomer === undefined) return;
    use.onTold(newcomer, [seen(HUB.name), ...others(118)]);
    const after = placed();
    expect(after).toHaveLength(before.length - 1);
    expect(before).toEqual(expect.arrayContaining(after));
    expect(use.isOpen(newcomer, HUB)).toBe(true);
  });

  test('nodes that are gone, or have dropped the node, leave theirs to others', () => {
    const { use, all, placed } = used(360, 119);
    const first = placed().slice(0, 10);
    for (const name of first.slice(0, 5)) use.forget(name);
    for (const name of first.slice(5)) {
      use.onTold(all.find((user) => user.name === name) ?? HUB, others(119));
    }
    // The ten could come back at any time; beside them ten others have places now.
    expect(placed()).toHaveLength(142);
  });

  test('a node that sees fewer others than before takes more of the places', () => {
    const { use, all, placed } = used(120, 120);
    for (const user of all) use.onTold(user, [seen(HUB.name), ...others(58)]);
    expect(placed()).toHaveLength(66);
  });
});

test('repeated choices come to an end, with no node used too much', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      // Nodes on a line; those in the middle are near to more others. Each wants two peers.
      const line = nodes(40, `${seed}-`);
      const nearest = line.map((self, i) => {
        const byDistance = line.map((other, j) => ({ other, distance: Math.abs(i - j) }));
        byDistance.sort((a, b) => a.distance - b.distance);
        return byDistance.map(({ other }) => other).filter((other) => other !== self);
      });
      const use = new PeerUse();
      const PEERS = 2;
      let chosen = new Map<string, readonly string[]>();
      let rounds = 0;
      for (let changed = true; changed; rounds++) {
        expect(rounds).toBeLessThan(200);
        changed = false;
        const next = new Map<string, readonly string[]>();
        for (const [i, self] of line.entries()) {
          const near = nearest[i] ?? [];
          const open = near.filter((other) => use.isOpen(self, other)).map(({ name }) => name);
          next.set(self.name, open.slice(0, PEERS));
          if (next.get(self.name)?.join() !== chosen.get(self.name)?.join()) changed = true;
        }
        // All choose at once, from earlier reports: the worst effect of delays.
        chosen = next;
        for (const self of line)
          use.onTold(
            self,
            (chosen.get(self.name) ?? []).map((name) => seen(name)),
          );
      }
      const users = new Map<string, number>();
      for (const names of chosen.values()) {
        for (const name of names) users.set(name, (users.get(name) ?? 0) + 1);
      }
      // Each of two peers gets a third of a node's load: four users are just above the places.
      expect(Math.max(...users.values())).toBeLessThanOrEqual(4);
    }),
    { numRuns: 30 },
  );
});
