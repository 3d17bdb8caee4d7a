import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SeenDepot } from '../depot-history.ts';
import type { Exnode, ExnodeReplica } from '../exnode.ts';
import type { Finding, ReplicaState } from '../findings.ts';
import { healthOf } from './health.ts';

const replica = (depot: number, expires?: number): ExnodeReplica => ({
  ...{ read: `http://depot-${depot}.example/-/d/i/s/f`, at: 0, expires },
});

/** Makes an exNode of parts of 10 bytes, by the replicas of each; a part without any is not listed. */
function exnodeOf(parts: readonly (readonly ExnodeReplica[])[]): Exnode {
  const extents = parts.map((replicas, i) => ({ start: 10 * i, end: 10 * (i + 1), replicas }));
  const listed = extents.filter(({ replicas }) => replicas.length > 0);
  return { size: 10 * parts.length, extents: listed, documents: [] } as unknown as Exnode;
}

const found = (...all: readonly (readonly [ExnodeReplica, ReplicaState, number?])[]) =>
  new Map<ExnodeReplica, Finding>(all.map(([one, state, expires]) => [one, { state, expires }]));

const at = (origin: string, rate: number, more: object = {}): SeenDepot => ({
  ...{ origin, rate, at: 0, kept: 1, failed: 0, ...more },
});

test('a dead depot is silent, its parts have fewer copies, and the copies can be repaired', () => {
  const [a, b, c] = [replica(1, 500), replica(2, 400), replica(1, 300)];
  const findings = found([a, 'there'], [b, 'silent'], [c, 'there', 900]);
  const health = healthOf(exnodeOf([[a, b], [c]]), findings, { seen: [], copies: 2, now: 0 });
  expect(health).toMatchObject({
    ...{ missingBytes: 0, mayFail: 0, lacksCopies: true },
    parts: [{ copies: 1, bytes: 20 }],
    holders: [
      { state: 'good', spaces: 2, readable: 2, bytes: 20, expires: 500 },
      { state: 'silent', spaces: 1, readable: 0, bytes: 0, expires: 400 },
    ],
  });
});

test('bytes that no depot lists any more are missing, and have no copy', () => {
  const a = replica(1);
  const health = healthOf(exnodeOf([[a], []]), found([a, 'there']), {
    ...{ seen: [], copies: 1, now: 0 },
  });
  const parts = [
    { copies: 0, bytes: 10 },
    { copies: 1, bytes: 10 },
  ];
  expect(health).toMatchObject({ missingBytes: 10, lacksCopies: true, parts });
});

test('a depot is slow that was far slower than the others, or that others had to take over from', () => {
  const all = [replica(1), replica(2), replica(3)];
  const findings = found(...all.map((one) => [one, 'there'] as const));
  const slow = { failed: 5, failedAt: 0, failure: 'slow' };
  const seen = [
    at('http://depot-1.example', 1000),
    at('http://depot-2.example', 200),
    at('http://depot-3.example', 900, slow),
  ];
  const { holders } = healthOf(exnodeOf([all]), findings, { seen, copies: 3, now: 0 });
  expect(holders.map(({ state }) => state)).toEqual(['good', 'slow', 'slow']);
});

test('whatever the answers, each byte is counted once, with the copies that can be read', () => {
  const states = ['there', 'silent', 'failing', 'expired', 'gone', 'short', 'damaged'] as const;
  const copy = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom<ReplicaState>(...states));
  const own = fc.uniqueArray(copy, { selector: ([depot]) => depot, maxLength: 4 });
  const parts = fc.array(own, { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 4 }), (drawn, copies) => {
      const made = drawn.map((listed) =>
        listed.map(([depot, state]) => [replica(depot), state] as const),
      );
      const exnode = exnodeOf(made.map((listed) => listed.map(([one]) => one)));
      const options = { seen: [], copies, now: 0 };
      const health = healthOf(exnode, found(...made.flat()), options);
      const counts = drawn.map((listed) => listed.filter(([, state]) => state === 'there').length);
      const byCopies = [0, 1, 2, 3, 4].flatMap((n) => {
        const bytes = 10 * counts.filter((count) => count === n).length;
        return bytes > 0 ? [{ copies: n, bytes }] : [];
      });
      const holders = health.holders.map(({ depot, state, spaces, readable, bytes }) => ({
        ...{ depot, spaces, readable, bytes, isGood: state === 'good' },
      }));
      const ofDepot = Map.groupBy(drawn.flat(), ([depot]) => depot);
      const expected = [...ofDepot].map(([depot, listed]) => {
        const readable = listed.filter(([, state]) => state === 'there').length;
        const isGood = readable === listed.length;
        const { origin } = new URL(replica(depot).read);
        return { depot: origin, spaces: listed.length, readable, bytes: 10 * readable, isGood };
      });
      // One comparison for all: each costs more than what is judged.
      expect({ ...health, holders }).toEqual({
        ...{ holders: expected, parts: byCopies, mayFail: Math.max(0, Math.min(...counts) - 1) },
        missingBytes: 10 * counts.filter((count) => count === 0).length,
        lacksCopies: counts.some((count) => count < copies),
      });
    }),
  );
});
