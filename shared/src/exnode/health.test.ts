import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SeenDepot } from './depot-history.ts';
import type { Exnode, ExnodeReplica } from './exnode.ts';
import type { Finding, ReplicaState } from './findings.ts';
import { healthOf } from './health.ts';

const replica = (depot: number, expires?: number): ExnodeReplica => ({
  ...{ read: `http://depot-${depot}.example/-/d/i/s/f`, at: 0, expires },
});

/** Makes an exNode of parts of 10 bytes, by the replicas of each. */
function exnodeOf(parts: readonly (readonly ExnodeReplica[])[]): Exnode {
  const extents = parts.map((replicas, i) => ({ start: 10 * i, end: 10 * (i + 1), replicas }));
  return { size: 10 * parts.length, extents, documents: [] } as unknown as Exnode;
}

const found = (...all: readonly (readonly [ExnodeReplica, ReplicaState, number?])[]) =>
  new Map<ExnodeReplica, Finding>(all.map(([one, state, expires]) => [one, { state, expires }]));

const at = (origin: string, rate: number, more: object = {}): SeenDepot => ({
  ...{ origin, rate, at: 0, kept: 1, failed: 0, ...more },
});

test('a dead depot is silent, its parts have fewer copies, and the copies can be repaired', () => {
  const [a, b, c] = [replica(1, 500), replica(2, 400), replica(1, 300)];
  const findings = found([a, 'there'], [b, 'silent'], [c, 'there', 900]);
  const health = healthOf(exnodeOf([[a, b], [c]]), findings, {
    seen: [],
    maxParts: 100,
    copies: 2,
    now: 0,
  });
  expect(health).toMatchObject({
    ...{ missingBytes: 0, mayFail: 0, lacksCopies: true },
    parts: [{ start: 0, end: 20, copies: 1 }],
    holders: [
      { state: 'good', spaces: 2, readable: 2, bytes: 20, expires: 500 },
      { state: 'silent', spaces: 1, readable: 0, bytes: 0, expires: 400 },
    ],
  });
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
  const { holders } = healthOf(exnodeOf([all]), findings, {
    seen,
    maxParts: 100,
    copies: 3,
    now: 0,
  });
  expect(holders.map(({ state }) => state)).toEqual(['good', 'slow', 'slow']);
});

test('whatever the answers, parts cover the file in order, and copies are those that can be read', () => {
  const states = ['there', 'silent', 'failing', 'expired', 'gone', 'short', 'damaged'] as const;
  const copy = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom<ReplicaState>(...states));
  const parts = fc.array(fc.uniqueArray(copy, { selector: ([depot]) => depot, maxLength: 4 }), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 4 }), (drawn, copies) => {
      const made = drawn.map((own) =>
        own.map(([depot, state]) => [replica(depot), state] as const),
      );
      const exnode = exnodeOf(made.map((own) => own.map(([one]) => one)));
      const health = healthOf(exnode, found(...made.flat()), {
        seen: [],
        maxParts: 100,
        copies,
        now: 0,
      });
      const counts = made.map((own) => own.filter(([, state]) => state === 'there').length);
      let end = 0;
      for (const part of health.parts) {
        expect(part.start).toBe(end);
        for (let i = part.start / 10; i < part.end / 10; i++) expect(counts[i]).toBe(part.copies);
        ({ end } = part);
      }
      expect(end).toBe(exnode.size);
      expect(health.parts.length).toBeLessThanOrEqual(100);
      expect(health.missingBytes).toBe(10 * counts.filter((one) => one === 0).length);
      expect(health.lacksCopies).toBe(counts.some((one) => one < copies));
      for (const { state, spaces, readable } of health.holders) {
        expect(state === 'good').toBe(spaces === readable);
      }
    }),
  );
});
