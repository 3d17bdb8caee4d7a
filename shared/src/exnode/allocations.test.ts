import { describe, expect, test } from '@jest/globals';
import { allocationsOf, grantedEnd, withEnds } from './allocations.ts';
import type { Exnode, ExnodeReplica } from './exnode.ts';
import { withReplicas, withStored } from './replicas.ts';

const SECRET = 's'.repeat(32);
const link = (id: string, kind: string) => `http://${id[0]}.example/-/${kind}/${id}/${SECRET}`;
const stored = (letter: string, at = 0): ExnodeReplica => {
  const id = letter.repeat(16);
  return { read: `${link(id, 'd')}/x`, at, expires: 10, manage: link(id, 'depot/m') };
};
const exnodeOf = (...replicas: ExnodeReplica[]): Exnode => ({
  ...{ name: 'a', size: 9, root: '' },
  blocks: { algorithm: 'sha256', pieceBytes: 3, hexes: [] },
  extents: replicas.map((replica, i) => ({ start: 3 * i, end: 3 * i + 3, replicas: [replica] })),
  documents: [stored('d')],
});

describe('the allocations of an exNode', () => {
  test('are named once each, however many extents they hold, with the copies of the exNode', () => {
    const mirror = { read: 'http://m.example/x', at: 0 };
    const exnode = exnodeOf(stored('a'), mirror, stored('a', 3));
    expect(
      allocationsOf(exnode).map(({ depot, manage, replicas }) => [depot, manage, replicas.length]),
    ).toEqual([
      ['http://a.example', stored('a').manage, 2],
      ['http://m.example', undefined, 1],
      ['http://d.example', stored('d').manage, 1],
    ]);
    const [first] = allocationsOf(exnode);
    if (first === undefined) throw new Error('it has one');
    const after = withEnds(exnode, new Map([[first, 99]]));
    expect(after.extents.map(({ replicas }) => replicas[0]?.expires)).toEqual([99, undefined, 99]);
    expect(after.documents?.[0]?.expires).toBe(10);
  });

  test('hold replicas that are being stored, which are managed like the others', () => {
    const begun = [{ start: 0, end: 3, replica: stored('b') }];
    const exnode = { ...exnodeOf(stored('a')), begun };
    const managed = allocationsOf(exnode);
    expect(managed.map(({ depot }) => depot[7])).toEqual(['a', 'd', 'b']);
    const last = managed[2] as (typeof managed)[number];
    const extended = withEnds(exnode, new Map([[last, 99]]));
    expect(extended.begun?.[0]?.replica.expires).toBe(99);
    expect(withReplicas(exnode, () => undefined).begun).toBeUndefined();
    const after = withStored(extended, begun[0] as (typeof begun)[number], stored('b'));
    expect([after.begun, after.extents]).toEqual([
      undefined,
      [{ start: 0, end: 3, replicas: [stored('a'), stored('b')] }],
    ]);
  });

  test('of a copy that was given away are nobody’s to manage', () => {
    const { manage: _, ...read } = stored('a');
    const shared = { ...exnodeOf(read), documents: undefined };
    expect(() => allocationsOf(shared)).toThrow(expect.objectContaining({ code: 'bad-exnode' }));
  });
});

test('an end that a depot cannot have granted is not believed', () => {
  const [now, asked] = [Date.UTC(2030, 0, 2), Date.UTC(2030, 0, 9)];
  expect(grantedEnd('2030-01-09T00:00:05.000Z', now, asked)).toBe(asked + 5000);
  // Its owner may not store for so long, or its clock is slow.
  expect(grantedEnd('2030-01-03T00:00:00.000Z', now, asked)).toBe(Date.UTC(2030, 0, 3));
  for (const told of ['2029-12-31T00:00:00.000Z', '2031-01-01T00:00:00.000Z', 'soon']) {
    expect(() => grantedEnd(told, now, asked)).toThrow(
      expect.objectContaining({ code: 'malformed-response' }),
    );
  }
});
