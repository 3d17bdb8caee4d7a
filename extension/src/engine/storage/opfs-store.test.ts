import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import fc from 'fast-check';
import { MemoryFile } from '../../testing/fake-surroundings.ts';
import { Partial } from './opfs-store.ts';

const LENGTH = 2_500_000;
const seed = createHash('sha256').update('partial').digest();
const CONTENT = new Uint8Array(LENGTH).map((_, i) => (seed[i % 32] as number) ^ (i >> 11));
const HEADER = { url: 'http://origin.example/a', length: LENGTH, validators: { etag: '"1"' } };

function files() {
  return { data: new MemoryFile(), journal: new MemoryFile() };
}

const isRight = (data: MemoryFile, { start, end }: { start: number; end: number }) =>
  Buffer.compare(data.bytes.subarray(start, end), CONTENT.subarray(start, end)) === 0;

describe('after a crash', () => {
  const write = fc.record({
    start: fc.nat(LENGTH - 1),
    bytes: fc.integer({ min: 1, max: 1_200_000 }),
    flush: fc.boolean(),
    forget: fc.boolean(),
  });

  test('only correct bytes count, and all flushed bytes do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 8 }), fc.integer(), async (writes, seed) => {
        const { data, journal } = files();
        const partial = await Partial.open(data, journal, HEADER);
        let safe = 0;
        for (const { start, bytes, flush, forget } of writes) {
          const range = { start, end: Math.min(LENGTH, start + bytes) };
          partial.write(start, CONTENT.slice(range.start, range.end));
          partial.prove(range);
          if (forget) {
            partial.forget([range]);
            safe = 0;
          }
          if (!flush) continue;
          await partial.flush();
          safe = partial.stored.bytes;
        }
        const random = seededRandom(seed);
        data.lose(random, 4096);
        journal.lose(random, 512);
        const next = await Partial.open(data, journal, HEADER);
        for (const range of next.stored.ranges) expect(isRight(data, range)).toBe(true);
        // Even if later lines were lost, the flushed ones were not.
        if (writes.every(({ forget }) => !forget) && writes.at(-1)?.flush) {
          expect(next.stored.bytes).toBe(safe);
        }
      }),
      { numRuns: 25 },
    );
  });

  test('bytes that were changed do not count', async () => {
    const { data, journal } = files();
    const partial = await Partial.open(data, journal, HEADER);
    partial.write(0, CONTENT.slice());
    partial.prove({ start: 0, end: LENGTH });
    await partial.flush();
    data.bytes[1_500_000] = ~(CONTENT[1_500_000] as number);
    const next = await Partial.open(data, journal, HEADER);
    expect(next.stored.ranges).toEqual([
      { start: 0, end: 1024 * 1024 },
      { start: 2 * 1024 * 1024, end: LENGTH },
    ]);
  });
});

test('bytes whose digest was replaced in part get a digest of their own', async () => {
  const { data, journal } = files();
  const partial = await Partial.open(data, journal, HEADER);
  for (const [start, end] of [
    [0, 200],
    [0, 100],
    [50, 150],
    [200, 300],
  ] as const) {
    partial.write(start, CONTENT.slice(start, end));
    partial.prove({ start, end });
  }
  await partial.flush();
  const next = await Partial.open(data, journal, HEADER);
  expect(next.stored.ranges).toEqual([{ start: 0, end: 300 }]);
});

test('bytes of another version are discarded', async () => {
  const { data, journal } = files();
  const partial = await Partial.open(data, journal, HEADER);
  partial.write(0, CONTENT.slice());
  partial.prove({ start: 0, end: LENGTH });
  await partial.flush();
  const other = { ...HEADER, validators: { etag: '"2"' } };
  const next = await Partial.open(data, journal, other);
  expect(next.stored.bytes).toBe(0);
});

test('forgotten bytes stay forgotten, even if their digest is ready later', async () => {
  const { data, journal } = files();
  const partial = await Partial.open(data, journal, HEADER);
  partial.write(0, CONTENT.slice(0, 2_000_000));
  partial.prove({ start: 0, end: 2_000_000 });
  partial.forget([{ start: 500_000, end: 600_000 }]);
  await partial.flush();
  const next = await Partial.open(data, journal, HEADER);
  expect(next.stored.bytesWithin({ start: 500_000, end: 600_000 })).toBe(0);
  expect(next.stored.bytes).toBe(1_900_000);
});
