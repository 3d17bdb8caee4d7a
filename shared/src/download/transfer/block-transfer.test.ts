import { describe, expect, test } from '@jest/globals';
import { freeSeats, TestSource, TransferWorld } from '../../../testing/transfer-world.ts';
import { MillraceError } from '../../base/errors.ts';
import type { Seats } from './source-pool.ts';
import type { OpenAnswer } from './transfer-ports.ts';

const MiB = 1024 * 1024;
const LENGTH = 12 * MiB + 12_345;

const reset = new MillraceError('origin-reset');

describe('a transfer', () => {
  test('fetches every byte once, from all sources', async () => {
    const sources = [new TestSource('a'), new TestSource('b')];
    const world = new TransferWorld(LENGTH, sources);
    await world.until(world.transfer().run());
    expect(world.isRight).toBe(true);
    expect(world.receivedBytes).toBe(LENGTH);
    for (const { receivedBytes } of sources) expect(receivedBytes).toBeGreaterThan(LENGTH / 4);
  });

  test('fails if the store could not write bytes, although every byte had come by then', async () => {
    const full = new MillraceError('disk-full');
    const world = new TransferWorld(LENGTH, [new TestSource('a')]);
    const end = async () => {
      if (world.scheduler.done) throw full;
    };
    const writer = () => ({ write: () => undefined, end });
    const store = { writer, confirm: async () => {}, forget: async () => {} };
    await expect(world.until(world.transfer({ store, connections: 1 }).run())).rejects.toBe(full);
  });

  test('requests only the rest after an answer breaks off', async () => {
    const source = new TestSource('a');
    source.scripts.push({ bytes: 100_000, error: reset }, { bytes: 7, error: reset });
    const world = new TransferWorld(LENGTH, [source]);
    await world.until(world.transfer().run());
    expect(world.isRight).toBe(true);
    expect(world.receivedBytes).toBe(LENGTH);
  });

  test('of which one request asks for all makes others as soon as a reader waits', async () => {
    const source = new TestSource('a', 'origin', 'host:80');
    const world = new TransferWorld(LENGTH, [source], freeSeats(4), true);
    const transfer = world.transfer();
    const seek = 8 * MiB;
    let before = 0;
    world.after(10, () => {
      before = source.asked.length;
      world.scheduler.prefer(seek);
      transfer.kick();
    });
    await world.until(transfer.run());
    expect(source.asked[0]).toEqual({ start: 0, end: LENGTH });
    expect(before).toBe(1);
    expect(source.asked[1]?.start).toBe(seek);
    expect(world.isRight).toBe(true);
    expect(world.receivedBytes).toBeLessThan(LENGTH * 1.02);
  });

  test('fetches the bytes of an answer that breaks the contract again', async () => {
    const bad = new TestSource('bad');
    bad.scripts.push({ damaged: true, bytes: 200_000, error: new MillraceError('wrong-length') });
    const world = new TransferWorld(LENGTH, [bad, new TestSource('good')]);
    await world.until(world.transfer().run());
    expect(world.isRight).toBe(true);
    expect(world.receivedBytes).toBe(LENGTH + 200_000);
  });

  test('discards the unproven bytes of a source that is quarantined', async () => {
    const bad = new TestSource('bad');
    bad.always = { damaged: true, bytes: 100_000, error: reset };
    const refused = new MillraceError('malformed-response');
    for (let i = 0; i < 6; i++) bad.scripts.push(bad.always);
    for (let i = 0; i < 5; i++) bad.scripts.push({ refused });
    const failed: string[] = [];
    const world = new TransferWorld(LENGTH, [bad, new TestSource('good')]);
    const onSourceFailed = ({ id }: TestSource) => failed.push(id);
    await world.until(world.transfer({ onSourceFailed }).run());
    expect(failed).toEqual(['bad']);
    expect(world.isRight).toBe(true);
  });

  test('keeps the bytes of the answer that defines the file when others of its source break the contract', async () => {
    const source = new TestSource('a');
    const refused = new MillraceError('malformed-response');
    source.scripts.push({ defines: true, bytes: 200_000, error: reset });
    source.always = { refused };
    const world = new TransferWorld(LENGTH, [source]);
    const transfer = world.transfer({ connections: 1 });
    await expect(world.until(transfer.run())).rejects.toBe(refused);
    expect(source.health.quarantine).toBe(refused);
    expect(world.stored.ranges).toEqual([{ start: 0, end: 200_000 }]);
  });

  test.each([true, false])(
    'discards the bytes of an overwritten file that came since its source last had the old one, of the answer that defines the file: %j',
    async (defines) => {
      const changed = new MillraceError('version-changed');
      const bad = new TestSource('bad');
      bad.namesOther = true;
      bad.scripts.push(
        { bytes: 200_000, error: reset },
        // The answer goes on with the new bytes under the old header.
        { defines, damaged: true, bytes: 300_000, error: reset },
        { refused: changed },
      );
      const world = new TransferWorld(LENGTH, [bad, new TestSource('good')]);
      await world.until(world.transfer({ connections: 1 }).run());
      expect(bad.health.quarantine).toBe(changed);
      expect(world.isRight).toBe(true);
      expect(world.receivedBytes).toBeGreaterThan(LENGTH);
      // The bytes that came before the last good answer are not fetched again.
      expect(world.receivedBytes).toBeLessThanOrEqual(LENGTH + 300_000);
    },
  );

  test('keeps the answer that defines the file when its link has come to lead to a page', async () => {
    const source = new TestSource('a');
    const changed = new MillraceError('version-changed');
    source.scripts.push({ defines: true, bytes: 200_000, error: reset }, { refused: changed });
    const world = new TransferWorld(LENGTH, [source]);
    await expect(world.until(world.transfer({ connections: 1 }).run())).rejects.toBe(changed);
    expect(world.stored.ranges).toEqual([{ start: 0, end: 200_000 }]);
  });

  test('accepts the bytes of an answer with a digest only once it is complete', async () => {
    const source = new TestSource('a');
    source.always = { checked: true };
    source.scripts.push({
      checked: true,
      damaged: true,
      error: new MillraceError('wrong-digest'),
    });
    const world = new TransferWorld(LENGTH, [source]);
    await world.until(world.transfer().run());
    expect(world.isRight).toBe(true);
  });

  test('gives up with the error of the source when no byte has come for retryForMs', async () => {
    const source = new TestSource('a', 'origin');
    const busy = new MillraceError('origin-busy');
    source.scripts.push({ bytes: MiB, error: reset });
    source.always = { refused: busy };
    const world = new TransferWorld(LENGTH, [source]);
    const transfer = world.transfer({ retryForMs: 60_000, connections: 1 });
    await expect(world.until(transfer.run())).rejects.toBe(busy);
    expect(world.now).toBeGreaterThan(30_000);
    expect(world.now).toBeLessThan(70_000);
    expect(world.stored.bytes).toBe(world.receivedBytes);
    expect(world.stored.bytes).toBeGreaterThan(0);
  });

  test('does not wait longer for a source that brings only bytes that are stored already', async () => {
    const source = new TestSource('a', 'origin');
    const world = new TransferWorld(LENGTH, [source]);
    const again: OpenAnswer = {
      checked: false,
      async read(sink) {
        await sink(0, world.data.subarray(0, 1000));
        throw reset;
      },
    };
    const transfer = world.transfer({
      ...{ retryForMs: 10_000, connections: 1 },
      open: () => world.wait(3000, new AbortController().signal).then(() => again),
    });
    await expect(world.until(transfer.run())).rejects.toBe(reset);
    expect(world.now).toBeLessThan(20_000);
  });

  test('ends when its signal aborts, and keeps the bytes that have come', async () => {
    const source = new TestSource('a');
    const world = new TransferWorld(LENGTH, [source]);
    const controller = new AbortController();
    const transfer = world.transfer({ signal: controller.signal });
    const why = new MillraceError('interrupted');
    world.after(20, () => controller.abort(why));
    await expect(world.until(transfer.run())).rejects.toBe(why);
    expect(world.stored.bytes).toBeGreaterThan(0);
    expect(world.stored.bytes).toBe(world.receivedBytes);
  });

  test('fetches the bytes of a silent source from another source', async () => {
    const silent = new TestSource('silent');
    silent.always = { bytes: 1000, hangs: true };
    const world = new TransferWorld(LENGTH, [silent, new TestSource('good')]);
    const transfer = world.transfer();
    const tick = () => {
      transfer.endSilent(20_000);
      world.after(1000, tick);
    };
    tick();
    await world.until(transfer.run());
    expect(world.isRight).toBe(true);
  });

  test.each([
    ['its own connection', 1, 1],
    ['the shared connection as well', 1, 2],
    ['more connections than there may be', 2, 3],
  ])('asks a good first source, though sources that drip hold %s', async (_what, most, count) => {
    const good = new TestSource('good', 'origin');
    // The first answer is late: others take its bytes meanwhile.
    good.scripts.push({ bytes: 0, error: reset });
    const drips = Array.from({ length: count }, (_, i) => new TestSource(`drip-${i}`));
    for (const drip of drips) drip.always = { bytes: 1000, drips: true };
    const world = new TransferWorld(2 * MiB, [good, ...drips]);
    await world.until(world.transfer({ connections: most }).run());
    expect(world.isRight).toBe(true);
  });

  test('lets the origin help edges of which only single bytes come', async () => {
    const [origin, edge] = [new TestSource('origin', 'origin'), new TestSource('edge', 'edge')];
    edge.always = { bytes: 1000, drips: true };
    const world = new TransferWorld(2 * MiB, [origin, edge]);
    await world.until(world.transfer().run());
    expect(world.isRight).toBe(true);
  });

  test.each([1, 4, 16])(
    'asks a good source found late, though a crowd of sources drips, with %d connections',
    async (connections) => {
      const drips = Array.from({ length: 12 }, (_, i) => new TestSource(`drip-${i}`));
      for (const drip of drips) drip.always = { bytes: 1000, drips: true };
      const good = new TestSource('good');
      good.admitted = false;
      const world = new TransferWorld(4 * MiB, [...drips, good], freeSeats(16));
      const transfer = world.transfer({ connections });
      world.after(5000, () => {
        good.admitted = true;
        transfer.kick();
      });
      await world.until(transfer.run());
      expect(world.isRight).toBe(true);
    },
  );

  test('lets the origin help edges that drip on all connections that are shared', async () => {
    const [origin, edge] = [new TestSource('origin', 'origin'), new TestSource('edge', 'edge')];
    edge.always = { bytes: 1000, drips: true };
    const world = new TransferWorld(2 * MiB, [origin, edge], freeSeats(6));
    await world.until(world.transfer({ connections: 6 }).run());
    expect(world.isRight).toBe(true);
  });

  test('does not take edges for lifeless that a rate limit holds back', async () => {
    const [origin, edge] = [new TestSource('origin', 'origin'), new TestSource('edge', 'edge')];
    const world = new TransferWorld(200_000, [origin, edge]);
    const onBytes = (_source: TestSource, count: number, signal: AbortSignal) =>
      world.wait(count, signal);
    await world.until(world.transfer({ connections: 1, onBytes }).run());
    expect(world.isRight).toBe(true);
    expect(origin.asked).toEqual([]);
  });

  test('asks no more sources at a time than help, while all of them bring bytes', async () => {
    const sources = Array.from({ length: 16 }, (_, i) => new TestSource(`slow-${i}`));
    for (const source of sources) source.pieceMs = 100;
    const world = new TransferWorld(32 * MiB, sources);
    let most = 0;
    const onBytes = () => {
      most = Math.max(most, sources.filter((source) => world.pool.active(source) > 0).length);
      return undefined;
    };
    await world.until(world.transfer({ connections: 1, onBytes }).run());
    expect(world.isRight).toBe(true);
    // The first source, and eight others.
    expect(most).toBe(9);
  });

  test('has all sources fetch what one takes back when every byte had come', async () => {
    const [bad, good] = [new TestSource('bad'), new TestSource('good')];
    const wrong = new MillraceError('wrong-digest');
    bad.scripts.push({ checked: true, damaged: true, error: wrong, endMs: 1000 });
    bad.always = { bytes: 1000, drips: true };
    const world = new TransferWorld(200_000, [bad, good]);
    await world.until(world.transfer().run());
    expect(world.isRight).toBe(true);
  });

  test('does not treat a source that it holds back itself as silent', async () => {
    const source = new TestSource('a');
    const world = new TransferWorld(MiB, [source]);
    let first = true;
    const failed: MillraceError[] = [];
    world.pool.onFailure = (_source, error) => void failed.push(error);
    const transfer = world.transfer({
      connections: 1,
      onBytes: (_source, _count, signal) => {
        const wait = first ? world.wait(60_000, signal) : undefined;
        first = false;
        return wait;
      },
    });
    world.after(30_000, () => transfer.endSilent(20_000));
    await world.until(transfer.run());
    expect(world.isRight).toBe(true);
    expect(failed).toEqual([]);
  });

  test('gives back connections, the youngest first, without losing a byte', async () => {
    const source = new TestSource('a', 'origin', 'host:80');
    const world = new TransferWorld(LENGTH, [source]);
    const transfer = world.transfer();
    let before = 0;
    world.after(10, () => {
      before = world.pool.active(source);
      transfer.giveBack('elsewhere:80', 4);
      transfer.giveBack('host:80', 3);
    });
    await world.until(transfer.run());
    expect(before).toBe(4);
    expect(source.asked.length).toBeGreaterThan(4);
    expect(world.isRight).toBe(true);
    expect(world.receivedBytes).toBe(LENGTH);
  });

  test('makes no request while no connection is free, and continues once one is', async () => {
    let isFree = false;
    const seats: Seats = { ...freeSeats(4), take: () => isFree };
    const source = new TestSource('a');
    const world = new TransferWorld(MiB, [source], seats);
    const transfer = world.transfer({ connections: 1 });
    const run = transfer.run();
    expect(source.asked).toEqual([]);
    isFree = true;
    transfer.kick();
    await world.until(run);
    expect(world.isRight).toBe(true);
  });

  test('gives each further source its own connection, so that a hung source cannot hold them all', async () => {
    const hung = new TestSource('hung');
    hung.always = { hangs: true, bytes: 1 };
    const good = new TestSource('good');
    good.admitted = false;
    const world = new TransferWorld(LENGTH, [hung, good]);
    const transfer = world.transfer({ connections: 1 });
    world.after(500, () => {
      good.admitted = true;
      transfer.kick();
    });
    await world.until(transfer.run());
    // The good source has also taken over the bytes of the hung source.
    expect(good.receivedBytes).toBeGreaterThan(LENGTH / 2);
    expect(world.isRight).toBe(true);
  });

  test('reports when no source can be reached, and when one can be reached again', async () => {
    const source = new TestSource('a', 'origin');
    source.scripts.push({ refused: new MillraceError('origin-unreachable') });
    const told: boolean[] = [];
    const world = new TransferWorld(MiB, [source]);
    const transfer = world.transfer({ connections: 1, onWaiting: (waiting) => told.push(waiting) });
    await world.until(transfer.run());
    expect(told).toEqual([true, false]);
    expect(world.isRight).toBe(true);
  });
});
