import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashText } from './hrw.ts';
import { minRtt, type Peer } from './peer.ts';
import { selectPeers } from './peer-set.ts';
import { SAMPLES } from './peer-table.ts';

const peer = (name: string, rtts: number[]): Peer => ({
  name,
  seed: hashText(name),
  url: `http://${name}:3125`,
  load: 0,
  weight: 1,
  policy: 'open',
  publicUrl: undefined,
  draining: false,
  sees: [],
  rtts,
  misses: 0,
  trusted: true,
  isolatedUntil: 0,
  heardAt: 0,
  toldAt: 0,
  lostAt: undefined,
});

const steady = (name: string, rtt: number) => peer(name, Array(SAMPLES).fill(rtt));
const many = (count: number, rtt: number, prefix = 'p') =>
  Array.from({ length: count }, (_, i) => steady(`${prefix}${i}`, rtt));
const names = (peers: readonly Peer[]) => new Set(peers.map((p) => p.name));
const NOBODY: ReadonlySet<string> = new Set();

describe('how many peers a node works with', () => {
  test.each([
    ['nobody', 0, 0, 0],
    ['all, if there are few', 3, 4, 7],
    ['at least 60, however far', 0, 100, 60],
    ['60, where fewer are close', 59, 100, 60],
    ['all that are close', 80, 100, 80],
    ['120 at most', 200, 0, 120],
  ])('%s: of %d close and %d far ones, %d', (_, close, far, size) => {
    const usable = [...many(far, 101, 'far'), ...many(close, 100, 'close')];
    const selected = selectPeers(NOBODY, usable);
    expect(names(selected).size).toBe(size);
    expect(selected).toHaveLength(size);
    const selectedClose = selected.filter((p) => p.name.startsWith('close'));
    expect(selectedClose).toHaveLength(Math.min(close, size));
  });

  test('a node is close if a single round trip took at most 100 ms', () => {
    const usable = many(70, 500);
    const once = usable.map((p, i) => peer(p.name, [500, i < 65 ? 100 : 100.1, 500]));
    expect(selectPeers(NOBODY, once)).toHaveLength(65);
  });
});

describe('which peers', () => {
  test('the closest at first; names decide between equal distances', () => {
    const usable = [...many(59, 200), steady('z', 250), steady('y', 250), steady('x', 300)];
    const selected = names(selectPeers(NOBODY, usable));
    expect(selected).toContain('y');
    expect(selected).not.toContain('z');
    expect(names(selectPeers(NOBODY, usable.reverse()))).toEqual(selected);
  });

  test('a peer that can no longer be used is replaced at once', () => {
    const usable = many(61, 200);
    const current = new Set(['gone', ...[...names(usable)].slice(0, 59)]);
    const selected = selectPeers(current, usable);
    expect(selected).toHaveLength(60);
    expect(names(selected)).not.toContain('gone');
  });

  test('more peers come in when more are close, and no member has to leave', () => {
    const members = many(60, 200, 'old');
    const current = names(members);
    const selected = names(selectPeers(current, [...members, ...many(100, 50, 'new')]));
    expect(selected.size).toBe(100);
  });
});

describe('replacing members', () => {
  /** Names selected from 59 near members, a far one and an outsider, for 60 places. */
  function select(outsider: number[], member: number[], isMember = true): Set<string> {
    const near = many(59, 110, 'near');
    const current = names([...near, ...(isMember ? [peer('member', member)] : [])]);
    const usable = [...near, peer('member', member), peer('outsider', outsider)];
    const selected = names(selectPeers(current, usable));
    expect(selected.size).toBe(60);
    expect(near.every((p) => selected.has(p.name))).toBe(true);
    return selected;
  }
  const mixed = (short: number) =>
    Array.from({ length: SAMPLES }, (_, i) => (i < short ? 150 : 250));

  test('a member stays until an outsider was closer in two thirds of 32 heartbeats', () => {
    const member = Array(SAMPLES).fill(200);
    expect(select(mixed(1), member)).toContain('member');
    expect(select(mixed(21), member)).toContain('member');
    expect(select(mixed(22), member)).toContain('outsider');
    expect(select(mixed(32), member)).toContain('outsider');
  });

  test('a node that is just as far does not push a member out', () => {
    const same = Array(SAMPLES).fill(200);
    expect(select(same, same)).toContain('member');
  });

  test('a node that is known only for a short time pushes no member out', () => {
    expect(select(Array(21).fill(120), Array(SAMPLES).fill(200))).toContain('member');
    expect(select(Array(22).fill(120), Array(SAMPLES).fill(200))).toContain('outsider');
    expect(select(Array(SAMPLES).fill(120), Array(21).fill(200))).toContain('member');
  });

  test('a member whose shortest round trip is shorter stays, however slow it mostly is', () => {
    const member = [120, ...Array(SAMPLES - 1).fill(400)];
    expect(select(Array(SAMPLES).fill(130), member)).toContain('member');
  });

  test('a node that is not a member yet has no such precedence', () => {
    expect(select([150], Array(SAMPLES).fill(200), false)).toContain('outsider');
  });

  test('an outsider that is not reliable enough does not keep a better one out', () => {
    const near = many(59, 110, 'near');
    const member = steady('member', 300);
    const usable = [...near, member, peer('erratic', [120, 400]), steady('reliable', 200)];
    const selected = names(selectPeers(names([...near, member]), usable));
    expect(selected).toContain('reliable');
    expect(selected).not.toContain('erratic');
    expect(selected).not.toContain('member');
  });
});

describe('in any case', () => {
  const rtts = fc.oneof(
    fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: SAMPLES }),
    fc.integer({ min: 1, max: 400 }).map((rtt) => Array<number>(SAMPLES).fill(rtt)),
  );
  const peersOf = (samples: fc.Arbitrary<number[]>) =>
    fc
      .array(fc.tuple(samples, fc.boolean()), { maxLength: 150, size: 'max' })
      .map((all) => all.map(([r, member], i) => ({ peer: peer(`p${i}`, r), member })));
  const currentOf = (all: { peer: Peer; member: boolean }[]) =>
    names(all.filter((p) => p.member).map((p) => p.peer));

  test('the set has its size, no node twice, and only usable nodes', () => {
    fc.assert(
      fc.property(peersOf(rtts), (all) => {
        const usable = all.map((p) => p.peer);
        const close = usable.filter((p) => minRtt(p) <= 100).length;
        const selected = selectPeers(currentOf(all), usable);
        const size = Math.min(120, Math.max(close, Math.min(60, usable.length)));
        expect(selected).toHaveLength(size);
        expect(names(selected).size).toBe(size);
        for (const p of selected) expect(usable).toContain(p);
      }),
    );
  });

  test('with steady round trips the set has the closest nodes, and stays as it is', () => {
    const samples = fc.integer({ min: 1, max: 400 }).map((r) => Array<number>(SAMPLES).fill(r));
    fc.assert(
      fc.property(peersOf(samples), (all) => {
        const usable = all.map((p) => p.peer);
        const selected = selectPeers(currentOf(all), usable);
        const ascending = (peers: Peer[]) => peers.map(minRtt).sort((a, b) => a - b);
        expect(ascending(selected)).toEqual(ascending(usable).slice(0, selected.length));
        expect(names(selectPeers(names(selected), usable))).toEqual(names(selected));
      }),
    );
  });
});

describe('nodes that enough others use', () => {
  const shut = (prefix: string) => (p: Peer) => !p.name.startsWith(prefix);

  test('are passed over for the next nearest', () => {
    const usable = [...many(50, 10, 'shut'), ...many(200, 20, 'open')];
    const selected = selectPeers(NOBODY, usable, shut('shut'));
    expect(selected).toHaveLength(120);
    expect(selected.filter((p) => p.name.startsWith('shut'))).toEqual([]);
  });

  test('are dropped by peers that have no place there any more', () => {
    const usable = [...many(30, 10, 'shut'), ...many(130, 20, 'open')];
    const before = selectPeers(NOBODY, usable);
    expect(names(before)).toContain('shut0');
    expect(names(selectPeers(names(before), usable, shut('shut')))).not.toContain('shut0');
  });

  test('are used nevertheless if there would be fewer than 60 peers', () => {
    const usable = [...many(80, 10, 'shut'), ...many(25, 500, 'open')];
    const selected = selectPeers(NOBODY, usable, shut('shut'));
    expect(selected).toHaveLength(60);
    expect(selected.filter((p) => p.name.startsWith('open'))).toHaveLength(25);
  });
});
