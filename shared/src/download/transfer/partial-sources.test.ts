import { describe, expect, test } from '@jest/globals';
import { TestSource, TransferWorld } from '../../../testing/transfer-world.ts';
import { RangeSet } from '../../base/byte-range.ts';
import { MillraceError } from '../../base/errors.ts';

const MiB = 1024 * 1024;
const LENGTH = 12 * MiB + 12_345;

describe('a transfer from sources that have parts of a file', () => {
  test('assembles a file from sources that have parts of it', async () => {
    const [a, b] = [new TestSource('a'), new TestSource('b')];
    a.has = new RangeSet([
      { start: 0, end: 5 * MiB },
      { start: 9 * MiB, end: LENGTH },
    ]);
    b.has = new RangeSet([{ start: 4 * MiB, end: 10 * MiB }]);
    const world = new TransferWorld(LENGTH, [a, b]);
    await world.until(world.transfer().run());
    expect(world.isRight).toBe(true);
    expect(world.receivedBytes).toBe(LENGTH);
  });

  test('ends when no remaining source has the rest, and keeps the bytes that have come', async () => {
    const [a, whole] = [new TestSource('a'), new TestSource('whole', 'origin')];
    a.has = new RangeSet([{ start: 0, end: 5 * MiB }]);
    const gone = new MillraceError('origin-gone');
    whole.always = { refused: gone };
    const world = new TransferWorld(LENGTH, [a, whole]);
    // The transfer has no time limit, but no source can bring the missing bytes.
    await expect(world.until(world.transfer({ connections: 2 }).run())).rejects.toBe(gone);
    expect(world.stored.bytes).toBe(5 * MiB);

    const alone = new TransferWorld(LENGTH, [a]);
    const run = alone.until(alone.transfer().run());
    const detail = `bytes ${5 * MiB}-${LENGTH - 1}`;
    await expect(run).rejects.toMatchObject({ code: 'rest-missing', detail });
    expect(alone.stored.bytes).toBe(5 * MiB);
  });

  test('waits for parts that a source may soon have, and ends once it can have no more', async () => {
    const begin = (growth: RangeSet) => {
      const [a, parity] = [new TestSource('a'), new TestSource('parity')];
      a.has = new RangeSet([{ start: 0, end: 5 * MiB }]);
      parity.has = new RangeSet();
      parity.mayGrow = true;
      const world = new TransferWorld(LENGTH, [a, parity]);
      // Long after everything that a source had is stored.
      world.after(20_000, () => {
        for (const range of growth.ranges) parity.has?.add(range);
        parity.mayGrow = false;
      });
      return world;
    };
    const grows = begin(new RangeSet([{ start: 5 * MiB, end: LENGTH }]));
    await grows.until(grows.transfer().run());
    expect(grows.isRight).toBe(true);
    expect(grows.receivedBytes).toBe(LENGTH);
    const stays = begin(new RangeSet());
    const run = stays.until(stays.transfer().run());
    await expect(run).rejects.toMatchObject({ code: 'rest-missing' });
    expect(stays.stored.bytes).toBe(5 * MiB);
  });
});
