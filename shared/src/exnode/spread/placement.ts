/**
 * Places the extents of a file on depots while they are uploaded. A depot that is done with its own takes
 * over extents of slower ones, so that fast depots store more (LOCI 3.2.1 reversed). Extents of a depot
 * that refuses them, or fails for good, go to depots that store the least and do not have them. The first
 * copy of an extent is sent; depots pull the others from it, beside what is sent to them. Whether one may
 * pull from another is asked while the first copy is sent: where it may not, its copy is sent as well.
 */

import { rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { depotWithFewest } from './fewest-bytes.ts';
import { PullPermits } from './pull-permits.ts';
import type { PlannedExtent } from './spread.ts';
import { UploadPace } from './upload-pace.ts';

/** Multiple of the time that a free depot needs for an extent after which it takes over one under way. */
const SLOW = 2;

/** The upload of an extent to a depot. */
export interface Placed {
  readonly extent: PlannedExtent;
  /** Index of the depot. */
  readonly depot: number;
}

/** How an extent comes to a depot: from this computer, or from a depot that has it. */
export type Way = 'send' | 'pull';

interface Progress {
  way: Way | undefined;
  state: 'waiting' | 'under way' | 'stored';
  /** Bytes that the depot has acknowledged. */
  stored: number;
  /** True if a pull has failed. */
  mustBeSent: boolean;
  /** Upload of the extent to another depot, of which only one goes on; undefined: there is none. */
  rival: Placed | undefined;
}

export class Placement {
  readonly #tasks = new Map<Placed, Progress>();
  readonly #ofExtent = new Map<PlannedExtent, Set<Placed>>();
  readonly #lost = new Set<number>();
  readonly #permits = new PullPermits();
  readonly #depots: number;
  /** Paces of the depots. */
  readonly #paces: Readonly<Record<Way, readonly UploadPace[]>>;
  /** How often extents have been taken over. */
  readonly #moves = new Map<PlannedExtent, number>();

  /** @param depots number of depots */
  constructor(plan: readonly PlannedExtent[], depots: number) {
    const paces = () => Array.from({ length: depots }, () => new UploadPace());
    this.#depots = depots;
    this.#paces = { send: paces(), pull: paces() };
    for (const extent of plan) {
      for (const depot of extent.depots) this.#add({ extent, depot });
    }
  }

  /** True once all extents are stored. */
  get isDone(): boolean {
    return [...this.#tasks.values()].every(({ state }) => state === 'stored');
  }

  /** Uploads that are planned, under way or over, without those that depots have failed at. */
  get tasks(): readonly Placed[] {
    return [...this.#tasks.keys()];
  }

  /** Copies of the whole file that are stored; 0 of an empty file. */
  get wholeCopies(): number {
    const extents = [...this.#ofExtent.keys()];
    const counts = extents.map((extent) => this.storesOf(extent).length);
    return counts.reduce((least, one) => Math.min(least, one), counts[0] ?? 0);
  }

  /** Returns true if a depot has failed. */
  isLost(depot: number): boolean {
    return this.#lost.has(depot);
  }

  /**
   * Begins the next upload to a depot that is free: one of its own, one that waits at a depot that would
   * be done later, or one under way that a slow depot would take twice as long for. That goes on until
   * the new one brings something: perhaps nothing gets through to any depot.
   *
   * @param way of the upload: a depot may be sent one extent, and pull another one
   * @returns undefined: nothing is to be done now
   */
  next(depot: number, way: Way, now: Millis): Placed | undefined {
    if (this.#lost.has(depot) || (way === 'pull' && !this.#permits.mayPull(depot)))
      return undefined;
    const own = this.#waitingAt(depot).find((task) => this.#isReady(task, way, now));
    const waiting = own ?? this.#takeWaiting(depot, way, now);
    if (waiting !== undefined) return this.#begin(waiting, way, now);
    const slow = this.#slowest(depot, way, now);
    if (slow === undefined) return undefined;
    const task = this.#add({ extent: slow.extent, depot }, slow);
    (this.#tasks.get(slow) as Progress).rival = task;
    return this.#begin(task, way, now);
  }

  /** Lists the depots that have stored an extent. */
  storesOf(extent: PlannedExtent): readonly Placed[] {
    return [...(this.#ofExtent.get(extent) ?? [])].filter(
      (task) => this.#tasks.get(task)?.state === 'stored',
    );
  }

  /** Lists the copies of an extent that its depot may pull from, as far as is known. */
  sourcesOf({ extent, depot }: Placed): readonly Placed[] {
    return this.storesOf(extent).filter((one) => this.#permits.mayPull(depot, one.depot));
  }

  /** Returns true for a copy beside another one of its extent that is stored or under way. */
  isFurther(task: Placed): boolean {
    return this.#othersOf(task).some((one) => this.#tasks.get(one)?.state !== 'waiting');
  }

  /**
   * Lists the depots to ask whether they may pull from the depot of a copy that is under way: those that
   * wait for it. Each is listed once for all extents of that depot.
   */
  questions(task: Placed): readonly number[] {
    const waiting = this.#othersOf(task).filter(
      (one) => this.#tasks.get(one)?.state === 'waiting' && !this.#lost.has(one.depot),
    );
    return waiting
      .map(({ depot }) => depot)
      .filter((depot) => this.#permits.mustAsk(depot, task.depot));
  }

  /** Notes that a depot cannot pull from another one. */
  onClosed(depot: number, from: number): void {
    this.#permits.refuse(depot, from);
  }

  /**
   * Notes that a depot cannot pull an extent: it is sent to it, unless another depot has taken it over.
   *
   * @param isDepot true if the depot is not to pull any more
   */
  onPullFailed(task: Placed, isDepot: boolean, now: Millis): void {
    if (isDepot) this.#permits.refuse(task.depot);
    const progress = this.#tasks.get(task);
    if (progress === undefined) return;
    this.#paces.pull[task.depot]?.end(now);
    const other = progress.rival && this.#tasks.get(progress.rival);
    if (other === undefined) {
      Object.assign(progress, { way: undefined, state: 'waiting', stored: 0, mustBeSent: true });
      return;
    }
    other.rival = undefined;
    this.#remove(task);
  }

  /**
   * Notes how many bytes of an extent a depot has acknowledged.
   *
   * @returns the upload to a slow depot that is to be ended now; undefined: none
   */
  onBytes(task: Placed, stored: number, now: Millis): Placed | undefined {
    const progress = this.#tasks.get(task);
    if (progress === undefined || stored <= progress.stored) return undefined;
    this.#paceOf(task)?.onBytes(stored - progress.stored, now);
    progress.stored = stored;
    const { rival } = progress;
    const isNewer = rival !== undefined && this.tasks.indexOf(rival) < this.tasks.indexOf(task);
    return isNewer ? this.#endRival(task, now) : undefined;
  }

  /** Notes that an extent is stored. @returns as `onBytes` */
  onStored(task: Placed, now: Millis): Placed | undefined {
    const progress = this.#tasks.get(task);
    if (progress === undefined) return undefined;
    const ended = this.onBytes(task, rangeBytes(task.extent), now);
    progress.state = 'stored';
    this.#paceOf(task)?.end(now);
    return ended ?? this.#endRival(task, now);
  }

  /** Returns true for an upload that counts: another depot has not taken its extent over. */
  has(task: Placed): boolean {
    return this.#tasks.has(task);
  }

  /**
   * Notes that a depot has failed. It keeps what it has stored.
   *
   * @returns false if an extent cannot be stored as many times as planned any more
   */
  onLost(depot: number): boolean {
    this.#lost.add(depot);
    for (const [task, { state, rival }] of [...this.#tasks]) {
      if (task.depot !== depot || state === 'stored') continue;
      this.#remove(task);
      const other = rival && this.#tasks.get(rival);
      if (other !== undefined) {
        other.rival = undefined;
        continue;
      }
      const chosen = depotWithFewest(this.#tasks.keys(), task.extent, this.#usable());
      if (chosen === undefined) return false;
      this.#add({ extent: task.extent, depot: chosen });
    }
    return true;
  }

  #usable(): number[] {
    return [...Array(this.#depots).keys()].filter((depot) => !this.#lost.has(depot));
  }

  #add(task: Placed, rival?: Placed): Placed {
    const mustBeSent = false;
    this.#tasks.set(task, { way: undefined, state: 'waiting', stored: 0, mustBeSent, rival });
    const others = this.#ofExtent.get(task.extent) ?? new Set();
    this.#ofExtent.set(task.extent, others.add(task));
    return task;
  }

  #remove(task: Placed): void {
    this.#tasks.delete(task);
    this.#ofExtent.get(task.extent)?.delete(task);
  }

  #begin(task: Placed, way: Way, now: Millis): Placed {
    const progress = this.#tasks.get(task) as Progress;
    progress.way = way;
    progress.state = 'under way';
    this.#paces[way][task.depot]?.begin(now);
    return task;
  }

  #paceOf(task: Placed): UploadPace | undefined {
    return this.#paces[this.#tasks.get(task)?.way ?? 'send'][task.depot];
  }

  /**
   * Returns true for a waiting upload that can begin in a way. An extent that a depot has is pulled. Of
   * one that is on its way to a depot that this one may pull from, the second copy waits, unless that
   * takes a slow depot far longer than this one is known to need.
   */
  #isReady(task: Placed, way: Way, now: Millis): boolean {
    const { extent, depot } = task;
    const progress = this.#tasks.get(task) as Progress;
    const mustBeSent = progress.mustBeSent || !this.#permits.mayPull(depot);
    if (!mustBeSent && this.sourcesOf(task).length > 0) return way === 'pull';
    if (way === 'pull') return false;
    const others = this.#othersOf(task).filter((one) => this.#permits.mayPull(depot, one.depot));
    const rate = this.#paces.send[depot]?.rate(now);
    return (
      mustBeSent ||
      others.every((one) => {
        const { state, stored } = this.#tasks.get(one) as Progress;
        if (state !== 'under way') return true;
        const theirs = this.#paceOf(one)?.rate(now);
        if (theirs === undefined || rate === undefined) return false;
        const bytes = rangeBytes(extent);
        return (bytes - stored) / theirs > (SLOW * bytes) / rate;
      })
    );
  }

  #othersOf(task: Placed): Placed[] {
    return [...(this.#ofExtent.get(task.extent) ?? [])].filter((one) => one !== task);
  }

  /** Ends the other upload of an extent. */
  #endRival(task: Placed, now: Millis): Placed | undefined {
    const progress = this.#tasks.get(task) as Progress;
    const { rival } = progress;
    if (rival === undefined) return undefined;
    progress.rival = undefined;
    this.#paceOf(rival)?.end(now);
    this.#remove(rival);
    this.#moves.set(rival.extent, (this.#moves.get(rival.extent) ?? 0) + 1);
    return rival;
  }

  #waitingAt(depot: number): Placed[] {
    return this.tasks.filter(
      (task) => task.depot === depot && this.#tasks.get(task)?.state === 'waiting',
    );
  }

  /** Returns true for an extent that a depot does not have, and can get in a way. */
  #canTake(depot: number, { extent }: Placed, way: Way): boolean {
    if (way === 'pull' && this.sourcesOf({ extent, depot }).length === 0) return false;
    return ![...(this.#ofExtent.get(extent) ?? [])].some((task) => task.depot === depot);
  }

  /**
   * Returns how many times longer an extent must take elsewhere if it is to move. It doubles with each
   * move, so that an extent does not go back and forth, but leaves a depot that has stopped.
   */
  #reluctance({ extent }: Placed): number {
    return 2 ** (this.#moves.get(extent) ?? 0);
  }

  /** Takes the last extent that waits at the depot that would be done last. */
  #takeWaiting(depot: number, way: Way, now: Millis): Placed | undefined {
    const own = this.#rateOfFree(depot, way, now);
    let best: { readonly task: Placed; readonly ms: Millis } | undefined;
    for (const [other, pace] of this.#paces[way].entries()) {
      const rate = pace.rate(now);
      const waiting = this.#waitingAt(other).filter((one) => this.#isReady(one, way, now));
      const task = waiting.findLast((one) => this.#canTake(depot, one, way));
      if (rate === undefined || task === undefined) continue;
      const ms = this.#bytesLeft(other, way, waiting) / rate;
      const ownMs = (this.#reluctance(task) * rangeBytes(task.extent)) / own;
      if (ms > ownMs && ms > (best?.ms ?? 0)) best = { task, ms };
    }
    if (best === undefined) return undefined;
    this.#remove(best.task);
    return this.#add({ extent: best.task.extent, depot });
  }

  /** Finds the upload under way that would end last, if this depot needs less than half of that time. */
  #slowest(depot: number, way: Way, now: Millis): Placed | undefined {
    const own = this.#rateOfFree(depot, way, now);
    let best: { readonly task: Placed; readonly ms: Millis } | undefined;
    for (const [task, { way: its, state, stored, rival }] of this.#tasks) {
      if (state !== 'under way' || its === undefined || rival !== undefined) continue;
      const rate = this.#paces[its][task.depot]?.rate(now);
      const isPulled = this.sourcesOf({ extent: task.extent, depot }).length > 0;
      if (rate === undefined || isPulled !== (way === 'pull')) continue;
      if (!this.#canTake(depot, task, way)) continue;
      const bytes = rangeBytes(task.extent);
      const ms = (bytes - stored) / rate;
      const ownMs = (SLOW * this.#reluctance(task) * bytes) / own;
      if (ms > ownMs && ms > (best?.ms ?? 0)) best = { task, ms };
    }
    return best?.task;
  }

  /** Forecasts the rate of a free depot. One that has had nothing counts as fast as the fastest. */
  #rateOfFree(depot: number, way: Way, now: Millis): number {
    const paces = this.#paces[way];
    const own = paces[depot]?.rate(now);
    if (own !== undefined) return own;
    const fastest = Math.max(0, ...paces.map((pace) => pace.rate(now) ?? 0));
    return fastest > 0 ? fastest : Infinity;
  }

  /** Returns the bytes that are left of what is under way in a way, and of what waits for it. */
  #bytesLeft(depot: number, way: Way, waiting: readonly Placed[]): number {
    let bytes = waiting.reduce((sum, { extent }) => sum + rangeBytes(extent), 0);
    for (const [task, { way: its, state, stored }] of this.#tasks) {
      if (task.depot === depot && state === 'under way' && its === way) {
        bytes += rangeBytes(task.extent) - stored;
      }
    }
    return bytes;
  }
}
