/**
 * A striped file on simulated depots, downloaded by the real scheduler, solver and decision about
 * late blocks: a block counts as proven once it is stored, and is solved once its parity has come.
 */

import type { ByteRange } from '../../src/base/byte-range.ts';
import { DepotPaces } from '../../src/download/exnode/depot-paces.ts';
import { LateBlocks } from '../../src/download/exnode/late-blocks.ts';
import { holdsOf } from '../../src/download/exnode/part-holds.ts';
import { Scheduler } from '../../src/download/scheduler/scheduler.ts';
import { columnAt, columnRange, unitsOf } from '../../src/exnode/coded.ts';
import type { CodedExtent } from '../../src/exnode/exnode.ts';
import { columnWith, type SolverState, solvableBlocks } from '../../src/exnode/row-solver.ts';
import {
  type DownloadConnection,
  type DownloadReceiver,
  type DownloadSource,
  SimulatedDownload,
} from '../simulated-download.ts';
import { SimulatedLink, SimulatedSource } from '../simulated-source.ts';
import { VirtualClock } from '../virtual-clock.ts';

export interface StripeOptions {
  readonly length: number;
  readonly blockBytes: number;
  /** Blocks of a unit. */
  readonly unitBlocks: number;
  /** Bytes per second of each depot with data, and of each with parity. */
  readonly data: readonly number[];
  readonly parity: readonly number[];
  readonly rttMs: number;
  readonly seed: number;
  /** False: what is late is waited for. */
  readonly solvesLate: boolean;
}

export interface StripeOutcome {
  readonly ms: number;
  /** Bytes received, parity included. */
  readonly receivedBytes: number;
  readonly solvedBlocks: number;
}

/** Downloads a file. @throws Error if it does not end */
export function downloadStripe(options: StripeOptions): StripeOutcome {
  const { length, blockBytes, rttMs, seed } = options;
  const clock = new VirtualClock();
  const layout = {
    start: 0,
    end: length,
    data: options.data.length,
    parity: options.parity.length,
  };
  const shards = [...options.data, ...options.parity].map(() => []);
  const unit = options.unitBlocks * blockBytes;
  const extent: CodedExtent = { ...layout, unit, parityHexes: [], shards };
  const depots = [...options.data, ...options.parity].map((bytesPerSecond, i) => {
    const links = [new SimulatedLink(bytesPerSecond)];
    return new SimulatedSource(clock, { id: `depot ${i}`, links, rttMs });
  });
  const scheduler = new Scheduler(
    { length, mode: 'progress', redundantBytes: length * 0.02, connections: 8 },
    clock.now,
  );
  const places = depots
    .slice(0, layout.data)
    .map(({ id }, shard) => ({ id, parts: unitsOf(extent, shard) }));
  const late = new LateBlocks({
    places: () => places,
    parity: () => parity.rates,
    stored: ({ start, end }) =>
      scheduler
        .missing({ start, end })
        .reduce((sum, gap) => sum - (gap.end - gap.start), end - start),
    mostTwice: Math.max(length * 0.02, layout.parity * blockBytes),
    scheduler: () => scheduler,
    now: () => clock.now,
  });
  const state: SolverState = {
    isProven: (block) => scheduler.isStored(block),
    canCome: () => true,
    isLate: (block) => options.solvesLate && late.isLate(block),
    parityOf: () => Array.from({ length: layout.parity }, (_, j) => j),
    isUrgent: () => false,
  };
  const parity = new SimulatedParity(extent, blockBytes, state, late, depots.slice(layout.data));
  let parts: readonly ByteRange[] = [];
  let stamp = '';
  const solvable = () => {
    const now = `${late.stamp} ${scheduler.storedBytes}`;
    if (now !== stamp) parts = solvableBlocks([extent], blockBytes, state);
    stamp = now;
    return parts;
  };
  for (const { id, parts } of places) {
    scheduler.addSource(id, {
      holds: holdsOf(
        () => parts,
        () => [],
      ),
    });
  }
  scheduler.addSource(parity.id, { holds: holdsOf(solvable, () => []) });
  let given = 0;
  const counted = (source: DownloadSource): DownloadSource => ({
    id: source.id,
    connect() {
      const tcp = source.connect();
      return {
        get closed() {
          return tcp.closed;
        },
        request: (range, receiver) =>
          tcp.request(range, {
            onData(bytes) {
              given += bytes;
              receiver.onData(bytes);
            },
            onReset: () => receiver.onReset(),
          }),
        close: () => tcp.close(),
      };
    },
  });
  const download = new SimulatedDownload({
    ...{ clock, seed, chooser: scheduler, connectionsPerSource: 2 },
    sources: [...depots.slice(0, layout.data).map(counted), parity],
  });
  const ms = download.run();
  return { ms, receivedBytes: given + parity.receivedBytes, solvedBlocks: parity.solvedBlocks };
}

/** The parity of all depots as one source, as the engine's coded source is. */
class SimulatedParity implements DownloadSource {
  readonly id = 'parity';
  readonly #extent: CodedExtent;
  readonly #blockBytes: number;
  readonly #state: SolverState;
  readonly #late: LateBlocks;
  readonly #depots: readonly SimulatedSource[];
  readonly #paces = new DepotPaces();
  /** Columns that are solved, or under way: who waits for them. */
  readonly #columns = new Map<number, (() => void)[] | 'solved'>();
  receivedBytes = 0;
  solvedBlocks = 0;

  constructor(
    extent: CodedExtent,
    blockBytes: number,
    state: SolverState,
    late: LateBlocks,
    depots: readonly SimulatedSource[],
  ) {
    this.#extent = extent;
    this.#blockBytes = blockBytes;
    this.#state = state;
    this.#late = late;
    this.#depots = depots;
  }

  get rates(): (number | undefined)[] {
    return this.#depots.map(({ id }) => this.#paces.rateOf(id));
  }

  connect(): DownloadConnection {
    const self = this;
    let receiver: DownloadReceiver | undefined;
    return {
      closed: false,
      request({ start, end }, by) {
        receiver = by;
        self.#solve(start, () => {
          if (receiver !== by) return;
          by.onData(end - start);
        });
      },
      close() {
        receiver = undefined;
      },
    };
  }

  #solve(at: number, then: () => void): void {
    const number = columnAt(this.#extent, this.#blockBytes, at);
    const column = this.#columns.get(number);
    if (column === 'solved') return then();
    if (column !== undefined) return void column.push(then);
    const lacking = columnWith([this.#extent], this.#blockBytes, at, this.#state)?.lacking ?? [];
    const waiting = [then];
    this.#columns.set(number, waiting);
    const range = columnRange(this.#extent, this.#blockBytes, number);
    let left = lacking.length;
    this.solvedBlocks += left;
    const solved = lacking.map(([, block]) => this.#late.onSolving(block));
    const cost = ({ id }: SimulatedSource) => this.#paces.costOf(id);
    const depots = [...this.#depots].sort((a, b) => cost(a) - cost(b)).slice(0, left);
    for (const depot of depots) {
      const began = depot.clock.now;
      const ended = this.#paces.ask(depot.id);
      let missing = range.end - range.start;
      depot.connect().request(range, {
        onData: (bytes) => {
          this.receivedBytes += bytes;
          missing -= bytes;
          if (missing > 0) return;
          ended(range.end - range.start, depot.clock.now - began);
          if (--left > 0) return;
          this.#columns.set(number, 'solved');
          for (const one of [...solved, ...waiting]) one();
        },
        onReset: () => {},
      });
    }
  }
}
