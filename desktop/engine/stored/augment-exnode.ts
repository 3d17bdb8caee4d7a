/**
 * Adds replicas of a stored file at further depots, and rebuilds lost shards there (LoRS augment, LOCI
 * 2.3). Capabilities are written
 * down before a byte is stored, so a run that is interrupted loses nothing, and the next one goes on.
 */

import { type ByteRange, shownRanges } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { Augmentation, type Fill } from '@millrace/shared/exnode/augment';
import type { Begun, CodedExtent, Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import type { Findings } from '@millrace/shared/exnode/findings';
import { depotOf, isOver } from '@millrace/shared/exnode/layout';
import { manageLinkOf, writeLinkOf } from '@millrace/shared/exnode/manage-link';
import { allReplicas } from '@millrace/shared/exnode/replicas';
import { Connections } from '../sources/connections.ts';
import { stateOfStored } from '../upload/depot-client.ts';
import { isGone } from '../upload/reserve.ts';
import type { KeptHistory } from '../upload/spread/kept-history.ts';
import { DepotFailure } from '../upload/spread/pull-run.ts';
import { leavesDepot } from '../upload/spread/store-documents.ts';
import type { DepotAccess } from '../upload/spread-upload.ts';
import { ExtentContent } from './extent-content.ts';
import { KeptExnode } from './kept-exnode.ts';
import { manageAllocations } from './manage-allocations.ts';
import { type FillContent, ReplicaFill } from './replica-fill.ts';
import { ReplicaSpaces } from './replica-spaces.ts';
import { ShardContent } from './shard-content.ts';
import { ShardSolver } from './shard-solver.ts';

/** Longest time by which the clock of a depot may be behind. */
const CLOCK_MS: Millis = 86_400_000;

export interface AugmentOptions {
  readonly exnode: Exnode;
  /** Answers of all places of the exNode. */
  readonly findings: Findings;
  /** Replicas that each plain extent shall have. Each shard of a coded one has one. */
  readonly copies: number;
  /** Depots that may store some, with the tokens for them; no other depot gets a token. */
  readonly depots: readonly DepotAccess[];
  /** End of the new leases, Unix milliseconds. */
  readonly end: Millis;
  /** Time without progress after which a depot is left. */
  readonly retryMs: Millis;
  readonly signal: AbortSignal;
  /** Monotonic and Unix milliseconds. */
  readonly now: () => Millis;
  readonly wallClock: () => Millis;
  /** Remembers how depots have done. */
  readonly history: KeptHistory;
  /** Makes the changed exNode durable. */
  readonly write: (exnode: Exnode) => Promise<void>;
  readonly observe: AugmentObserver;
}

export interface AugmentObserver {
  /** Called once it is known how many bytes are to be stored, and how many are already. */
  begun(bytes: number, stored: number): void;
  /** Called when there is more to store than before, or less. */
  planned(bytes: number): void;
  /** Called with the number of bytes that are stored by now. */
  sent(bytes: number): void;
  retried(error: MillraceError, pauseMs: Millis): void;
  /** Called when a depot has failed for good, and others store what it was to store. */
  left(depot: string, error: MillraceError): void;
  /** Called when a depot cannot pull a replica, so that this process sends the bytes. */
  fed(fill: Fill, error: MillraceError): void;
  /** Called when a replica has sent wrong bytes. */
  wrong(replica: ExnodeReplica, error: MillraceError): void;
  /** Called when a replica is stored, verified, and listed in the exNode. */
  added(fill: Fill): void;
}

export interface Augmented {
  readonly exnode: Exnode;
  /** Number of replicas that were added. */
  readonly added: number;
  /** Ranges of extents without any good replica. */
  readonly missing: readonly ByteRange[];
  /** Why extents do not have as many replicas as wanted; undefined: they have. */
  readonly failure: MillraceError | undefined;
}

/**
 * Adds replicas.
 *
 * @throws MillraceError `too-few-depots`, before anything is stored; `bad-exnode` as `Augmentation`;
 *   errors of `write`; `interrupted`
 */
export async function augmentExnode(options: AugmentOptions): Promise<Augmented> {
  const run = new AugmentRun(options);
  try {
    return await run.run();
  } finally {
    await run.close();
  }
}

/** A replica to store, perhaps in space that an earlier run has begun to fill. */
interface Job {
  readonly fill: Fill;
  readonly begun?: Begun | undefined;
}

class AugmentRun {
  readonly #options: AugmentOptions;
  readonly #plan: Augmentation;
  readonly #spaces: ReplicaSpaces;
  readonly #access: ReadonlyMap<string, DepotAccess>;
  readonly #resumed = new Map<string, Job[]>();
  readonly #busy = new Set<string>();
  readonly #workers = new Set<Promise<void>>();
  /** Error that ends the run. */
  #fault: { readonly error: unknown } | undefined;
  readonly #stored = new Map<Fill, number>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #connections: Promise<Connections> | undefined;
  /** Solvers of the coded extents that have lost shards. */
  readonly #solvers = new Map<CodedExtent, ShardSolver>();
  /** Last failure of a depot or of the sources. */
  #failure: MillraceError | undefined;
  #added = 0;
  /** True if replicas have to be placed anew: one or more cannot be stored, or do not count. */
  #hasChanged = false;

  constructor(options: AugmentOptions) {
    const { exnode, findings, copies, depots, write, signal } = options;
    this.#options = options;
    this.#access = new Map(depots.map((access) => [access.edge, access]));
    this.#plan = new Augmentation(exnode, findings, copies, [...this.#access.keys()]);
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    const { end, retryMs, now, wallClock, observe } = options;
    this.#spaces = new ReplicaSpaces({
      ...{ kept: new KeptExnode(exnode, write), plan: this.#plan, access: this.#access },
      ...{ end, retryMs, now, wallClock, signal: this.#signal },
      onRetry: observe.retried.bind(observe),
    });
  }

  async run(): Promise<Augmented> {
    await this.#takeUp();
    const plan = this.#plan;
    const lack = this.#shortage();
    if (lack !== undefined) throw lack;
    plan.place();
    if (plan.fills.length > 0) this.#options.observe.begun(this.#bytes, 0);
    await this.#workAll();
    this.#options.signal.throwIfAborted();
    const { missing } = plan;
    const failure = this.#shortage();
    // A failure was the depot's own if others stored theirs meanwhile.
    if (this.#added > 0) this.#options.history.confirm();
    return { exnode: this.#spaces.exnode, added: this.#added, missing, failure };
  }

  /** Bytes of all replicas that are planned, under way or stored. */
  get #bytes(): number {
    return this.#plan.fills.reduce((sum, fill) => sum + fill.bytes, 0);
  }

  async close(): Promise<void> {
    await this.#options.history.save();
    await (await this.#connections?.catch(() => undefined))?.close();
  }

  /** Goes on with the replicas that an earlier run has begun, and releases those too many. */
  async #takeUp(): Promise<void> {
    const { exnode, wallClock, signal } = this.#options;
    const begun = new Map(
      (exnode.begun ?? []).map((one) => {
        const { replica } = one;
        const manage = manageLinkOf(replica);
        return [{ depot: depotOf(replica), manage, replicas: [replica] }, one] as const;
      }),
    );
    const outcomes = await manageAllocations([...begun.keys()], stateOfStored, signal);
    signal.throwIfAborted();
    for (const [allocation, one] of begun) {
      const outcome = outcomes.get(allocation);
      const isKnown = outcome !== undefined && 'value' in outcome;
      const { replica } = one;
      if (!isKnown) {
        const isLost = outcome !== undefined && isGone(outcome.error);
        // A depot deletes it at its end, whether it answers or not.
        if (isLost || isOver(replica, wallClock() - CLOCK_MS)) await this.#spaces.forget(one);
        continue;
      }
      const isWritable = writeLinkOf(replica) !== undefined;
      const fill = isWritable ? this.#plan.resume(one, allocation.depot) : undefined;
      if (fill === undefined) {
        await this.#spaces.drop(one);
        continue;
      }
      const jobs = this.#resumed.get(fill.depot) ?? [];
      jobs.push({ fill, begun: one });
      this.#resumed.set(fill.depot, jobs);
    }
  }

  /** Describes what lacks; undefined: each extent that can be copied has, or gets, its replicas. */
  #shortage(): MillraceError | undefined {
    const { shortage } = this.#plan;
    if (shortage === undefined) return undefined;
    if (this.#failure?.code === 'rest-missing') return this.#failure;
    const { depots, range } = shortage;
    const more = depots === 1 ? '1 more is needed' : `${depots} more are needed`;
    const last =
      this.#failure === undefined ? '' : `; the last one failed: ${this.#failure.message}`;
    return new MillraceError('too-few-depots', `${more} for ${shownRanges([range])}${last}`);
  }

  /** Stores all replicas: at each depot one after the other, at all depots at once. */
  async #workAll(): Promise<void> {
    this.#wake();
    // Workers that begin meanwhile are visited too.
    for (const worker of this.#workers) {
      await worker;
      this.#workers.delete(worker);
    }
    if (this.#fault !== undefined && !this.#options.signal.aborted) throw this.#fault.error;
  }

  /** Lets the depots work that have something to do. */
  #wake(): void {
    for (const depot of [...this.#access.keys(), ...this.#resumed.keys()]) {
      const job = this.#busy.has(depot) ? undefined : this.#next(depot);
      if (job === undefined) continue;
      this.#busy.add(depot);
      const worker = this.#work(depot, job).catch((error: unknown) => {
        this.#fault ??= { error };
        this.#stop.abort(error);
      });
      this.#workers.add(worker);
    }
  }

  /** Stores the replicas of a depot, one after the other. */
  async #work(depot: string, first: Job): Promise<void> {
    try {
      for (let job: Job | undefined = first; job !== undefined; job = this.#next(depot)) {
        await this.#carryOut(job);
        this.#wake();
      }
    } finally {
      this.#busy.delete(depot);
    }
  }

  #next(depot: string): Job | undefined {
    const job = this.#resumed.get(depot)?.shift();
    if (job !== undefined) return job;
    const fill = this.#plan.next(depot);
    return fill && { fill };
  }

  async #carryOut({ fill, begun }: Job): Promise<void> {
    const { observe, history } = this.#options;
    const plan = this.#plan;
    try {
      const extended = begun && (await this.#spaces.extend(begun));
      const stored = await this.#filled(fill, extended);
      if (stored === undefined) this.#hasChanged = true;
      else {
        await this.#spaces.list(stored);
        plan.onStored(fill, stored.replica);
        this.#added++;
        history.kept(fill.depot);
        observe.added(fill);
      }
    } catch (thrown) {
      this.#signal.throwIfAborted();
      const error = thrown instanceof DepotFailure ? thrown.error : asMillraceError(thrown);
      if (error.code === 'rest-missing') plan.onUnfillable(fill);
      else if (thrown instanceof DepotFailure || leavesDepot(error)) {
        plan.onGivenUp(fill);
        plan.onDepotFailed(fill.depot);
        history.suspect(fill.depot, error);
        observe.left(fill.depot, error);
      } else throw thrown;
      this.#failure = error;
      this.#stored.delete(fill);
      this.#hasChanged = true;
    }
    // An earlier run may have begun the only replica of an extent.
    if (!this.#hasChanged && begun === undefined) return;
    this.#hasChanged = false;
    plan.place();
    observe.planned(this.#bytes);
  }

  #filled(fill: Fill, resumed: Begun | undefined): Promise<Begun | undefined> {
    const { retryMs, now, observe } = this.#options;
    const filling = new ReplicaFill({
      ...{ content: this.#content(fill), retryMs, now, signal: this.#signal },
      begin: () => this.#spaces.begin(fill),
      drop: (begun) => this.#spaces.drop(begun),
      observe: {
        stored: (bytes) => {
          this.#stored.set(fill, bytes);
          observe.sent([...this.#stored.values()].reduce((sum, one) => sum + one, 0));
        },
        retried: (error, pauseMs) => observe.retried(error, pauseMs),
        fed: (error) => observe.fed(fill, error),
      },
    });
    return filling.run(resumed);
  }

  #content(fill: Fill): FillContent {
    const { exnode } = this.#options;
    const [plan, signal] = [this.#plan, this.#signal];
    const source = (replica: ExnodeReplica) => this.#source(replica);
    const onWrong = (replica: ExnodeReplica, error: MillraceError) => {
      this.#hasChanged = true;
      plan.onWrong(replica);
      this.#options.observe.wrong(replica, error);
    };
    const { start, end, shard: index } = fill;
    const extent = exnode.coded?.find((one) => one.start === start && one.end === end);
    if (index === undefined || extent === undefined) {
      return new ExtentContent({ exnode, plan, fill, source, onWrong, signal });
    }
    const replicas = (shard: number) => plan.sources({ start, end, shard });
    const solver =
      this.#solvers.get(extent) ??
      new ShardSolver({ exnode, extent, replicas, source, onWrong, signal });
    this.#solvers.set(extent, solver);
    return new ShardContent({ exnode, plan, shard: { extent, index }, solver });
  }

  /** Makes a source of a replica, to read it as downloads do. */
  async #source(replica: ExnodeReplica) {
    this.#connections ??= this.#connect();
    return (await this.#connections).source('mirror', replica.read, Math.random);
  }

  async #connect(): Promise<Connections> {
    const { exnode } = this.#options;
    const replicas = [...allReplicas(exnode), ...(exnode.begun ?? [])];
    const places = [...replicas.map(({ replica }) => depotOf(replica)), ...this.#access.keys()];
    const urls = [...new Set(places.map((place) => `${place}/`))];
    const request = { ...REQUEST_DEFAULTS, urls, listed: urls, dir: '' };
    const connections = await Connections.open(request);
    // Digests say what the bytes are worth, so they may come by any way.
    connections.trustDigest();
    return connections;
  }
}
