/**
 * Places the extents of a file on depots while they are uploaded. A depot that is done with its own takes
 * over extents of slower ones, so that fast depots store more (LOCI 3.2.1 reversed). Extents of a depot
 * that refuses them, or fails for good, go to depots that store the least and do not have them.
 */

import { rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
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

interface Progress {
  state: 'waiting' | 'under way' | 'stored';
  /** Bytes that the depot has acknowledged. */
  stored: number;
  /** Upload of the extent to another depot, of which only one goes on; undefined: there is none. */
  rival: Placed | undefined;
}

export class Placement {
  readonly #tasks = new Map<Placed, Progress>();
  readonly #lost = new Set<number>();
  readonly #paces: readonly UploadPace[];
  /** How often extents have been taken over. */
  readonly #moves = new Map<PlannedExtent, number>();

  /** @param depots number of depots */
  constructor(plan: readonly PlannedExtent[], depots: number) {
    this.#paces = Array.from({ length: depots }, () => new UploadPace());
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

  /** Returns true if a depot has failed. */
  isLost(depot: number): boolean {
    return this.#lost.has(depot);
  }

  /**
   * Begins the next upload to a depot that is free: one of its own, one that waits at a depot that would
   * be done later, or one under way that a slow depot would take twice as long for. That goes on until
   * the new one brings something: perhaps nothing gets through to any depot.
   *
   * @returns undefined: nothing is to be done now
   */
  next(depot: number, now: Millis): Placed | undefined {
    if (this.#lost.has(depot)) return undefined;
    const waiting = this.#of(depot, 'waiting')[0] ?? this.#takeWaiting(depot, now);
    if (waiting !== undefined) return this.#begin(waiting, now);
    const slow = this.#slowest(depot, now);
    if (slow === undefined) return undefined;
    const task = this.#add({ extent: slow.extent, depot }, slow);
    (this.#tasks.get(slow) as Progress).rival = task;
    return this.#begin(task, now);
  }

  /**
   * Notes how many bytes of an extent a depot has acknowledged.
   *
   * @returns the upload to a slow depot that is to be ended now; undefined: none
   */
  onBytes(task: Placed, stored: number, now: Millis): Placed | undefined {
    const progress = this.#tasks.get(task);
    if (progress === undefined || stored <= progress.stored) return undefined;
    this.#paces[task.depot]?.onBytes(stored - progress.stored, now);
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
    this.#paces[task.depot]?.end(now);
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
      this.#tasks.delete(task);
      const other = rival && this.#tasks.get(rival);
      if (other !== undefined) {
        other.rival = undefined;
        continue;
      }
      const chosen = this.#other(task);
      if (chosen === undefined) return false;
      this.#add({ extent: task.extent, depot: chosen });
    }
    return true;
  }

  #add(task: Placed, rival?: Placed): Placed {
    this.#tasks.set(task, { state: 'waiting', stored: 0, rival });
    return task;
  }

  #begin(task: Placed, now: Millis): Placed {
    (this.#tasks.get(task) as Progress).state = 'under way';
    this.#paces[task.depot]?.begin(now);
    return task;
  }

  /** Ends the other upload of an extent. */
  #endRival(task: Placed, now: Millis): Placed | undefined {
    const progress = this.#tasks.get(task) as Progress;
    const { rival } = progress;
    if (rival === undefined) return undefined;
    progress.rival = undefined;
    this.#tasks.delete(rival);
    this.#paces[rival.depot]?.end(now);
    this.#moves.set(rival.extent, (this.#moves.get(rival.extent) ?? 0) + 1);
    return rival;
  }

  #of(depot: number, state: Progress['state']): Placed[] {
    return this.tasks.filter(
      (task) => task.depot === depot && this.#tasks.get(task)?.state === state,
    );
  }

  /** Returns true for an extent that a depot does not have. */
  #canTake(depot: number, { extent }: Placed): boolean {
    return !this.tasks.some((task) => task.extent === extent && task.depot === depot);
  }

  /**
   * Returns how many times longer an extent must take elsewhere if it is to move. It doubles with each
   * move, so that an extent does not go back and forth, but leaves a depot that has stopped.
   */
  #reluctance({ extent }: Placed): number {
    return 2 ** (this.#moves.get(extent) ?? 0);
  }

  /** Takes the last extent that waits at the depot that would be done last. */
  #takeWaiting(depot: number, now: Millis): Placed | undefined {
    const own = this.#rateOfFree(depot, now);
    let best: { readonly task: Placed; readonly ms: Millis } | undefined;
    for (const [other, pace] of this.#paces.entries()) {
      const rate = pace.rate(now);
      const task = this.#of(other, 'waiting').findLast((one) => this.#canTake(depot, one));
      if (rate === undefined || task === undefined) continue;
      const ms = this.#bytesLeft(other) / rate;
      const ownMs = (this.#reluctance(task) * rangeBytes(task.extent)) / own;
      if (ms > ownMs && ms > (best?.ms ?? 0)) best = { task, ms };
    }
    if (best === undefined) return undefined;
    this.#tasks.delete(best.task);
    return this.#add({ extent: best.task.extent, depot });
  }

  /** Finds the upload under way that would end last, if this depot needs less than half of that time. */
  #slowest(depot: number, now: Millis): Placed | undefined {
    const own = this.#rateOfFree(depot, now);
    let best: { readonly task: Placed; readonly ms: Millis } | undefined;
    for (const [task, { state, stored, rival }] of this.#tasks) {
      const rate = this.#paces[task.depot]?.rate(now);
      if (state !== 'under way' || rival !== undefined || rate === undefined) continue;
      if (!this.#canTake(depot, task)) continue;
      const bytes = rangeBytes(task.extent);
      const ms = (bytes - stored) / rate;
      const ownMs = (SLOW * this.#reluctance(task) * bytes) / own;
      if (ms > ownMs && ms > (best?.ms ?? 0)) best = { task, ms };
    }
    return best?.task;
  }

  /** Forecasts the rate of a free depot. One that has had nothing counts as fast as the fastest. */
  #rateOfFree(depot: number, now: Millis): number {
    const own = this.#paces[depot]?.rate(now);
    if (own !== undefined) return own;
    const fastest = Math.max(0, ...this.#paces.map((pace) => pace.rate(now) ?? 0));
    return fastest > 0 ? fastest : Infinity;
  }

  #bytesLeft(depot: number): number {
    let bytes = 0;
    for (const [task, { state, stored }] of this.#tasks) {
      if (task.depot === depot && state !== 'stored') bytes += rangeBytes(task.extent) - stored;
    }
    return bytes;
  }

  /** Chooses the depot with the fewest bytes, of those that do not have an extent. */
  #other({ extent }: Placed): number | undefined {
    const bytes = new Map<number, number>();
    for (const depot of this.#paces.keys()) {
      if (!this.#lost.has(depot)) bytes.set(depot, 0);
    }
    for (const task of this.#tasks.keys()) {
      const before = bytes.get(task.depot);
      if (before === undefined) continue;
      if (task.extent === extent) bytes.delete(task.depot);
      else bytes.set(task.depot, before + rangeBytes(task.extent));
    }
    let best: number | undefined;
    for (const [depot, its] of bytes) {
      if (best === undefined || its < (bytes.get(best) as number)) best = depot;
    }
    return best;
  }
}
