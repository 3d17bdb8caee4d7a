import { describe, expect, test } from '@jest/globals';
import type { ByteRange } from '../src/base/byte-range.ts';
import { type Millis, seededRandom } from '../src/base/clock.ts';
import { MillraceError } from '../src/base/errors.ts';
import { Scheduler } from '../src/download/scheduler/scheduler.ts';
import { BlockTransfer } from '../src/download/transfer/block-transfer.ts';
import { SourceHealth } from '../src/download/transfer/source-health.ts';
import { SourcePool } from '../src/download/transfer/source-pool.ts';
import type { OpenAnswer, Sink } from '../src/download/transfer/transfer-ports.ts';
import { TransferSource } from '../src/download/transfer/transfer-source.ts';
import { SimulatedDownload } from './simulated-download.ts';
import { type SimulatedConnection, SimulatedLink, SimulatedSource } from './simulated-source.ts';
import { freeSeats } from './transfer-world.ts';
import { VirtualClock } from './virtual-clock.ts';

const MiB = 1024 * 1024;
const LENGTH = 48 * MiB;
const PER_SOURCE = 4;
const SILENT_MS = 20_000;
const LIMIT_MS = 600_000;
/** Number of promise turns between events: more than a transfer needs. */
const TURNS = 40;
const PIECE = new Uint8Array(64 * 1024);

interface Setting {
  /** Bytes per second of each source, on its own link. */
  readonly rates: readonly number[];
  /** Interval at which all connections break at once. */
  readonly resetMs?: Millis;
  /** Time after which the first source sends nothing. */
  readonly stallAt?: Millis;
}

function stage({ rates, resetMs, stallAt }: Setting) {
  const clock = new VirtualClock();
  const sources = rates.map((rate, i) => {
    const links = [new SimulatedLink(rate)];
    return new SimulatedSource(clock, { id: `source-${i}`, links, rttMs: 40 });
  });
  const connections = PER_SOURCE * sources.length;
  const redundantBytes = LENGTH * 0.02;
  const settings = { length: LENGTH, mode: 'progress' as const, redundantBytes, connections };
  const scheduler = new Scheduler(settings, 0);
  for (const { id } of sources) scheduler.addSource(id);
  const every = (ms: Millis, run: () => void) => {
    clock.in(ms, () => {
      run();
      every(ms, run);
    });
  };
  if (resetMs !== undefined) {
    every(resetMs, () => {
      for (const source of sources) source.reset();
    });
  }
  if (stallAt !== undefined) clock.in(stallAt, () => sources[0]?.stall(true));
  return { clock, sources, scheduler, connections, every };
}

/** Returns how long the simulated download takes. */
function simulated(setting: Setting): Millis {
  const { clock, sources, scheduler: chooser } = stage(setting);
  return new SimulatedDownload({
    clock,
    chooser,
    sources,
    connectionsPerSource: PER_SOURCE,
    timeoutMs: SILENT_MS,
  }).run(LIMIT_MS);
}

/** A simulated source, for the transfer that app and extension share. */
class LinkedSource extends TransferSource {
  override readonly kind = 'mirror';
  override readonly id: string;
  override readonly host: string;
  readonly #source: SimulatedSource;
  readonly #idle: SimulatedConnection[] = [];

  constructor(source: SimulatedSource, random: () => number) {
    super(new SourceHealth(random));
    this.#source = source;
    this.id = this.host = source.id;
  }

  override get isAdmitted(): boolean {
    return true;
  }

  async open(range: ByteRange, signal: AbortSignal): Promise<OpenAnswer> {
    return { checked: false, read: (sink) => this.#read(range, sink, signal) };
  }

  #read({ start, end }: ByteRange, sink: Sink, signal: AbortSignal): Promise<void> {
    const connection = this.#idle.pop() ?? this.#source.connect();
    let at = start;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        connection.close();
        reject(error);
      };
      signal.addEventListener('abort', () => fail(signal.reason), { once: true });
      connection.request(
        { start, end },
        {
          onData: (bytes) => {
            try {
              void sink(at, PIECE.subarray(0, bytes));
            } catch (error) {
              return fail(error);
            }
            at += bytes;
            if (at < end) return;
            if (!connection.closed) this.#idle.push(connection);
            resolve();
          },
          onReset: () => fail(new MillraceError('origin-reset')),
        },
      );
    });
  }
}

/** Returns how long the transfer takes that app and extension share. */
async function real(setting: Setting): Promise<Millis> {
  const { clock, sources, scheduler, connections, every } = stage(setting);
  const random = seededRandom(1);
  const pool = new SourcePool<LinkedSource>(freeSeats(PER_SOURCE), () => clock.now);
  for (const source of sources) pool.add(new LinkedSource(source, random));
  const transfer = new BlockTransfer<LinkedSource>({
    store: {
      writer: () => ({ write: () => undefined, end: async () => {} }),
      confirm: async () => {},
      forget: async () => {},
    },
    scheduler,
    pool,
    open: (source, range, signal) => source.open(range, signal),
    connections,
    session: {
      signal: new AbortController().signal,
      now: () => clock.now,
      wait: (ms, signal) =>
        new Promise((resolve) => {
          clock.in(ms, resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        }),
      onBytes: () => undefined,
    },
  });
  every(1000, () => transfer.endSilent(SILENT_MS));
  let ended = false;
  const run = transfer.run().finally(() => {
    ended = true;
  });
  for (;;) {
    for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
    if (ended) break;
    if (!clock.step(LIMIT_MS)) throw new Error(`${scheduler.storedBytes} bytes in ${clock.now} ms`);
  }
  await run;
  return clock.now;
}

const MB = 1_000_000;

describe('the simulated download takes as long as the transfer of app and extension', () => {
  test.each<[string, Setting]>([
    ['from one source', { rates: [2 * MB] }],
    ['from equal ones', { rates: [MB, MB, MB] }],
    ['from one that is much slower than the other', { rates: [2 * MB, 0.1 * MB] }],
    ['where all connections break again and again', { rates: [MB, MB], resetMs: 3000 }],
    ['where one falls silent', { rates: [MB, MB], stallAt: 5000 }],
  ])('%s', async (_name, setting) => {
    const [ours, theirs] = [simulated(setting), await real(setting)];
    expect(ours / theirs).toBeGreaterThan(0.98);
    expect(ours / theirs).toBeLessThan(1.02);
  });
});
