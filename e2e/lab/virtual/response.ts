/** One response of the project's agent over simulated nodes, in virtual time. */

import { seededRandom } from '@millrace/shared/base/clock';
import type { CongestionWindow } from '@millrace/shared/cdn/delivery/window';
import { VirtualClock } from '@millrace/shared/testing/virtual-clock';
import { median, percentile } from '../report.ts';
import { AgentRun, type ChunkTrace } from './agent-run.ts';
import { timeWithoutTail } from './tail-reduction.ts';
import { type VirtualNetwork, VirtualWorld } from './virtual-world.ts';

const MBIT = 125_000;
export const FILE_BYTES = 50 * 1024 * 1024;
const LIMIT_MS = 86_400_000;
/** Shares of slowest chunks that are assumed to take the median time (WORLDS table 3). */
export const TAILS = [0, 0.01, 0.02, 0.05];

/** Result of one response. */
export interface Response {
  readonly megabits: number;
  /** Milliseconds until the client received the first chunk. */
  readonly firstMs: number;
  /** Megabits per second without the slowest chunks, for each share in `TAILS`. */
  readonly withoutTail: readonly number[];
  /** Ratio of the 99th percentile of chunk times to their median. */
  readonly tail: number;
  /** Ratio of requests to chunks. */
  readonly requests: number;
  readonly heldBytes: number;
}

export interface ResponseOptions {
  readonly network: VirtualNetwork;
  readonly chunkBytes: number;
  readonly window: CongestionWindow;
  readonly seed: number;
  readonly inOrder?: boolean;
}

/** Runs one response in virtual time. */
export function respond({
  network,
  chunkBytes,
  window,
  seed,
  inOrder = true,
}: ResponseOptions): Response {
  const clock = new VirtualClock();
  const world = new VirtualWorld(clock, network, { chunkBytes, fileBytes: FILE_BYTES, seed });
  const chunks = Math.ceil(FILE_BYTES / chunkBytes);
  const random = seededRandom(seed);
  const run = new AgentRun({ world, chunks, chunkBytes, window, inOrder, random });
  run.advance();
  if (!clock.run(() => run.done, LIMIT_MS)) throw new Error('a response that does not end');
  if (run.failure !== undefined) throw run.failure;
  return responseOf(run.traces, chunkBytes, run.requests, run.mostHeld);
}

function responseOf(
  traces: readonly ChunkTrace[],
  chunkBytes: number,
  requests: number,
  mostHeld: number,
): Response {
  const durations = traces.map((t) => t.readyAt - t.startedAt);
  const rate = (ms: number) => FILE_BYTES / MBIT / (ms / 1000);
  const first = (traces[0] as ChunkTrace).startedAt;
  return {
    megabits: rate(Math.max(...traces.map((t) => t.sentAt)) - first),
    firstMs: Math.min(...traces.map((t) => t.sentAt)) - first,
    withoutTail: TAILS.map((share) => rate(timeWithoutTail(traces, share))),
    tail: percentile(durations, 0.99) / median(durations),
    requests: requests / traces.length,
    heldBytes: mostHeld * chunkBytes,
  };
}
