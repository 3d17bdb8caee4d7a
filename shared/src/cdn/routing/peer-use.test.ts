import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashText } from './hrw.ts';
import { PeerUse } from './peer-use.ts';

const node = (name: string) => ({ name, seed: hashText(name) });
const nodes = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, i) => node(`${prefix}${i}`));
const others = (count: number) => nodes(count, 'other').map(({ name }) => name);
const HUB = node('hub');

/** Gives each of a number of users the hub and others as peers, `peers` in all. */
function used(users: number, peers: number) {
  const use = new PeerUse();
  const all = nodes(users, 'user');
  for (const user of all) use.onTold(user, [HUB.name, ...others(peers - 1)]);
  const placed = () => all.filter((user) => use.isOpen(user, HUB)).map(({ name }) => name);
  return { use, all, placed };
}

describe('places at a node', () => {
  test('a node that nobody has spoken of is open', () => {
    expect(new PeerUse().isOpen(node('a'), HUB)).toBe(true);
  });

  test('everybody has one where all are peers of all, however many', () => {
    const { placed } = used(120, 120);
    expect(placed()).toHaveLength(120);
  });

  test('of three times as many as it should serve, a third and a tenth have one', () => {
    const { placed } = used(360, 119);
    expect(placed()).toHaveLength(132);
  });

  test('nodes with few peers send more to each, and take more of the places', () => {
    const { placed } = used(360, 59);
    expect(placed()).toHaveLength(66);
  });

  test('who has one is the same whoever spoke first', () => {
    const { all, placed } = used(200, 59);
    const backwards = new PeerUse();
    for (const user of [...all].reverse()) backwards.onTold(user, [HUB.name, ...others(58)]);
    const there = all.filter((user) => backwards.isOpen(user, HUB)).map(({ name }) => name);
    expect(there).toEqual(placed());
  });

  test('who comes early in the order gets one from a node that is full, and the last one loses it', () => {
    const { use, placed } = used(360, 119);
    const before = placed();
    const newcomer = nodes(100, 'new').find((one) => use.isOpen(one, HUB));
    expect(newcomer).toBeDefined();
    if (newcomer === undefined) return;
    use.onTold(newcomer, [HUB.name, ...others(118)]);
    const after = placed();
    expect(after).toHaveLength(before.length - 1);
    expect(before).toEqual(expect.arrayContaining(after));
    expect(use.isOpen(newcomer, HUB)).toBe(true);
  });

  test('those that have gone, or have let go of the node, leave theirs to others', () => {
    const { use, all, placed } = used(360, 119);
    const first = placed().slice(0, 10);
    for (const name of first.slice(0, 5)) use.forget(name);
    for (const name of first.slice(5)) {
      use.onTold(all.find((user) => user.name === name) ?? HUB, others(119));
    }
    // The ten could come back at any time; beside them ten others have places now.
    expect(placed()).toHaveLength(142);
  });

  test('a node that comes to see fewer others takes more of the places', () => {
    const { use, all, placed } = used(120, 120);
    for (const user of all) use.onTold(user, [HUB.name, ...others(58)]);
    expect(placed()).toHaveLength(66);
  });
});

test('choosing again and again ends, with nobody over-used and all as near as can be had', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      // Nodes on a line; those in the middle are near to more others. Each wants two.
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
        // All at once, from the reports of before: the worst that delays can do.
        chosen = next;
        for (const self of line) use.onTold(self, chosen.get(self.name) ?? []);
      }
      const users = new Map<string, number>();
      for (const names of chosen.values()) {
        for (const name of names) users.set(name, (users.get(name) ?? 0) + 1);
      }
      // A third of each node's requests goes to each of two peers: four users make more than is
      // right.
      expect(Math.max(...users.values())).toBeLessThanOrEqual(4);
    }),
    { numRuns: 30 },
  );
});
