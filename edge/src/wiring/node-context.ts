/** Parts that all parts of a node share. */

import { AwakeClock } from '@millrace/shared/base/awake-clock';
import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { MemoryAccount } from '@millrace/shared/cdn/admission/memory-account';
import { NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { Admissions } from '../admission/admissions.ts';
import type { Config } from '../config/config.ts';
import { Metrics } from '../figures/metrics.ts';
import { memoryLimit } from '../memory/limit.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { Rounds } from './rounds.ts';

export interface NodeContext {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Use of resources by clients, and refusals. */
  readonly admissions: Admissions;
  /** Finds the client of a request. */
  readonly clientAddress: ClientAddress;
  /** Memory that this process holds, and its limits. */
  readonly account: MemoryAccount;
  /** Monotonic milliseconds, without the time for which the process stands still. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly rounds: Rounds;
  /** Round trips of clients' networks to this node and others. */
  readonly rtts: NetworkRtts;
  /** Link to the supervisor, if this is one of several processes. */
  readonly link: WorkerLink | undefined;
}

/** Tick of the clock: turns of a busy node take tens of milliseconds; hundreds are a stall. */
const AWAKE_TICK_MS = 100;
const MAX_AWAKE_STEP_MS = 3 * AWAKE_TICK_MS;

/** Makes the shared parts of a node, and starts its clock. */
export function nodeContext(config: Config, log: Log, link: WorkerLink | undefined): NodeContext {
  const awake = new AwakeClock(performance.now(), MAX_AWAKE_STEP_MS);
  const rounds = new Rounds();
  rounds.every(AWAKE_TICK_MS, () => awake.tick(performance.now()));
  const metrics = new Metrics();
  const wallClock = () => Date.now();
  return {
    config,
    log,
    metrics,
    admissions: new Admissions(metrics, wallClock),
    clientAddress: new ClientAddress(config.trustedProxy, config.proxyField),
    account: new MemoryAccount(memoryLimit(config)),
    now: () => awake.read(performance.now()),
    wallClock,
    rounds,
    rtts: new NetworkRtts(config.name),
    link,
  };
}
