/** What all parts of a node share. */

import { AwakeClock } from '@millrace/shared/base/awake-clock';
import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import type { Config } from '../config.ts';
import { Metrics } from '../metrics.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { Rounds } from './rounds.ts';

export interface NodeContext {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Monotonic milliseconds, of which those do not count in which the process stands still. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly rounds: Rounds;
  /** To the supervisor, where this is one of several processes. */
  readonly link: WorkerLink | undefined;
}

/** A loop turn of a busy node takes tens of milliseconds; one of hundreds holds everything up. */
const AWAKE_TICK_MS = 100;
const MAX_AWAKE_STEP_MS = 3 * AWAKE_TICK_MS;

/** Begins a node: clocks run, and there are figures. */
export function nodeContext(config: Config, log: Log, link: WorkerLink | undefined): NodeContext {
  const awake = new AwakeClock(performance.now(), MAX_AWAKE_STEP_MS);
  const rounds = new Rounds();
  rounds.every(AWAKE_TICK_MS, () => awake.tick(performance.now()));
  return {
    config,
    log,
    metrics: new Metrics(),
    now: () => awake.read(performance.now()),
    wallClock: () => Date.now(),
    rounds,
    link,
  };
}
