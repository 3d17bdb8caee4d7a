import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isMillraceError } from '../base/errors.ts';
import type { Exnode, ExnodeReplica, Extent } from './exnode.ts';
import type { Finding, ReplicaState } from './findings.ts';
import { allReplicas } from './replicas.ts';
import { planTrim, seemsLost, without } from './trim.ts';

const SIZE = 12;
const SECRET = 's'.repeat(32);
const STATES: readonly ReplicaState[] = [
  ...(['there', 'there', 'there', 'silent', 'failing'] as const),
  ...(['expired', 'gone', 'short', 'damaged'] as const),
];
const bytes = Array.from({ length: SIZE }, (_, byte) => byte);

/** A replica in one of three allocations of a depot. */
function replicaOf(depot: number, allocation: number): ExnodeReplica {
  const id = `${depot}${allocation}`.repeat(8);
  const at = (kind: string) => `http://d${depot}.example/-/${kind}/${id}/${SECRET}`;
  return { read: `${at('d')}/x`, at: 0, manage: at('depot/m') };
}

const drawn = fc.record({
  extents: fc.array(
    fc.record({
      start: fc.nat(SIZE - 1),
      length: fc.integer({ min: 1, max: SIZE }),
      places: fc.array(fc.tuple(fc.nat(3), fc.nat(2)), { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  states: fc.array(fc.constantFrom(...STATES), { minLength: 20, maxLength: 20 }),
  expired: fc.boolean(),
  damaged: fc.boolean(),
  edges: fc.subarray([0, 1, 2, 3]),
});

function exnodeOf(extents: readonly Extent[], documents: readonly ExnodeReplica[] = []): Exnode {
  const blocks = { algorithm: 'sha256', pieceBytes: 1, hexes: [] } as const;
  return { name: 'a', size: SIZE, root: '', blocks, extents, documents };
}

/** Tells whether a byte is in a replica of some kind. */
const hasAt = (exnode: Exnode, byte: number, isOf: (replica: ExnodeReplica) => boolean) =>
  exnode.extents.some(
    ({ start, end, replicas }) => start <= byte && byte < end && replicas.some(isOf),
  );

describe('a trim', () => {
  test('removes all that is chosen and leaves each byte a replica, or is refused for a reason', () => {
    let [done, refused] = [0, 0];
    fc.assert(
      fc.property(drawn, ({ extents: shapes, states, expired, damaged, edges }) => {
        const extents = shapes.map(({ start, length, places }) => ({
          ...{ start, end: Math.min(SIZE, start + length) },
          replicas: places.map(([depot, allocation]) => replicaOf(depot, allocation)),
        }));
        const exnode = exnodeOf(extents);
        const listed = allReplicas(exnode).map(({ replica }) => replica);
        const stateOf = new Map(listed.map((replica, i) => [replica, states[i] as ReplicaState]));
        const findings = new Map(listed.map((r) => [r, { state: stateOf.get(r) } as Finding]));
        const depots = edges.map((depot) => `http://d${depot}.example`);
        const is =
          (...some: ReplicaState[]) =>
          (replica: ExnodeReplica) =>
            some.includes(stateOf.get(replica) as ReplicaState);
        const isChosen = (replica: ExnodeReplica) =>
          depots.includes(new URL(replica.read).origin) ||
          (expired && is('expired', 'gone')(replica)) ||
          (damaged && is('short', 'damaged')(replica));
        const keys = new Set(listed.filter(isChosen).map(({ manage }) => manage));
        const left = without(exnode, []);
        const kept = (replica: ExnodeReplica) => !keys.has(replica.manage);
        const mayBeRight = is('there', 'silent', 'failing');
        // The rule once more, byte by byte.
        const loses = bytes.some((byte) => {
          const goes = (isOf: (replica: ExnodeReplica) => boolean) =>
            hasAt(exnode, byte, (replica) => !kept(replica) && isOf(replica));
          const stays = (isOf: (replica: ExnodeReplica) => boolean) =>
            hasAt(exnode, byte, (replica) => kept(replica) && isOf(replica));
          return (
            (goes(() => true) && !stays(() => true)) || (goes(mayBeRight) && !stays(is('there')))
          );
        });
        try {
          const plan = planTrim(exnode, findings, { expired, damaged, depots });
          expect(loses).toBe(false);
          expect(new Set(plan.map(({ manage }) => manage))).toEqual(keys);
          const after = allReplicas(without(left, plan)).map(({ replica }) => replica);
          expect(after).toEqual(listed.filter(kept));
          done++;
        } catch (error) {
          if (!isMillraceError(error, 'last-replica')) throw error;
          expect(loses).toBe(true);
          refused++;
        }
      }),
      { numRuns: 1000 },
    );
    expect([done > 100, refused > 100]).toEqual([true, true]);
  });

  test('takes the copies of the exNode along, and knows what seems to be gone', () => {
    const [here, there, document] = [replicaOf(0, 0), replicaOf(1, 0), replicaOf(0, 1)];
    const exnode = exnodeOf([{ start: 0, end: SIZE, replicas: [here, there] }], [document]);
    const findings = new Map<ExnodeReplica, Finding>([
      [here, { state: 'gone' }],
      [there, { state: 'there' }],
      [document, { state: 'there' }],
    ]);
    const depots = ['http://d0.example'];
    const plan = planTrim(exnode, findings, { expired: false, damaged: false, depots });
    expect(plan.map((one) => seemsLost(one, findings))).toEqual([true, false]);
    const after = without(exnode, plan);
    expect([after.extents[0]?.replicas, after.documents]).toEqual([[there], undefined]);
  });
});
