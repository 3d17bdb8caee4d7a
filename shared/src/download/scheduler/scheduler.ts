/**
 * Chooses the bytes that a free connection fetches next, from any of several sources: LOCI 3.2's
 * progress-driven redundancy over blocks whose size adapts to the source, with forecasts (LOCI 5).
 * Redundant requests are the last resort: first the end of a slow request is taken over.
 *
 * Calling order: `next` for a free connection, `onBytes` as its bytes are stored, `onEnd` once.
 * If `next` has nothing to do for a source, call it again when another request ends, and after
 * `ASK_AGAIN_MS` at the latest: only time shows that a request stands still.
 */

import { type ByteRange, rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { StoredMap } from '../journal/stored-map.ts';
import type { LociRules, RedundancyMode } from '../request/request.ts';
import { chooseGridBytes } from './block-size.ts';
import { choose } from './choice.ts';
import { type Holds, heldRuns } from './holdings.ts';
import { LociChoice } from './loci-choice.ts';
import { boundOpenEnded } from './open-ended.ts';
import { OwnChunks } from './own-chunks.ts';
import { type Assignment, RunningRequest } from './running-request.ts';
import { paceOf, type SchedulerState } from './scheduler-state.ts';
import { SourceTable } from './source-table.ts';

export type { Assignment } from './running-request.ts';

const NONE: readonly Assignment[] = [];

/** Longest wait of a connection with nothing to do before it asks again. */
export const ASK_AGAIN_MS = 200;

/** Most requests for one byte at a time, R in LOCI 3.2: the paper finds 2 to 3 best. */
const COPIES = 2;
/** Most requests that may overtake a request before it counts as late, P in LOCI 3.2: 3 to 9. */
const PROGRESS = 6;
/** Bytes ahead of a reader that count as urgent. */
const LOOK_AHEAD_BYTES = 32 * 1024 * 1024;
/** Most blocks of the stored map, even if the caller chooses their size. */
const MAX_BLOCKS = 4 * 1024 * 1024;

export interface SchedulerOptions {
  /** Length of the file in bytes, 1 or more. */
  readonly length: number;
  /** Size of the blocks in which stored bytes are kept; by default chosen from the length. */
  readonly gridBytes?: number | undefined;
  readonly mode: RedundancyMode;
  /** Most requests for one byte at a time, R in LOCI 3.2; the basic mode has 1. */
  readonly copies?: number | undefined;
  /** A request is late once more than these have overtaken it, P in LOCI 3.2; aggressive: 0. */
  readonly progress?: number | undefined;
  /** The paper's own algorithm in place of ours: then only these rules count. */
  readonly loci?: LociRules | undefined;
  /** Most bytes that may be fetched twice; 0 for URLs that are signed or work once. */
  readonly redundantBytes: number;
  /** Most requests at a time over all sources. */
  readonly connections: number;
  /** True if the download may begin with one request for all the rest. */
  readonly isOpenEnded?: boolean;
}

export interface SourceOptions {
  /** Returns true if the source owns the chunk that begins at a position of the file. */
  readonly owns?: ((position: number) => boolean) | undefined;
  /** Size of the chunks of `owns`, in bytes. */
  readonly chunkBytes?: number | undefined;
  /** Parts of the file that the source has; undefined: the whole file. */
  readonly holds?: Holds | undefined;
  /** True for an edge: others like it may be found, which should get their part of the work. */
  readonly hasPeers?: boolean;
}

export class Scheduler {
  readonly #length: number;
  readonly #state: SchedulerState;
  /** Chooser of the paper's blocks; undefined: ours chooses. */
  readonly #loci: LociChoice | undefined;

  /** @throws MillraceError `bad-option` for a length below 1 */
  constructor(options: SchedulerOptions, _now: Millis) {
    const { length, mode, connections, redundantBytes } = options;
    if (!Number.isSafeInteger(length) || length < 1) {
      throw new MillraceError('bad-option', `a file of ${length} bytes has nothing to schedule`);
    }
    const grid = options.gridBytes ?? 0;
    const gridBytes = length / grid <= MAX_BLOCKS ? grid : chooseGridBytes(length);
    this.#length = length;
    this.#loci = options.loci === undefined ? undefined : new LociChoice(length, options.loci);
    this.#state = {
      connections: Math.max(1, connections),
      isProbing: false,
      isOpenEnded: this.#loci === undefined && (options.isOpenEnded ?? false),
      sharing: undefined,
      copies: mode === 'basic' ? 1 : Math.max(1, options.copies ?? COPIES),
      progress: mode === 'aggressive' ? 0 : (options.progress ?? PROGRESS),
      redundantBytes,
      stored: new StoredMap(length, gridBytes),
      sources: new SourceTable(),
      running: [],
      spent: 0,
      reader: undefined,
      throttled: false,
    };
  }

  /** True once every byte is stored. */
  get done(): boolean {
    return this.storedBytes === this.#length;
  }

  get storedBytes(): number {
    return this.#state.stored.bytes;
  }

  /** Bytes that have come in although they were stored already. */
  get redundantBytesSpent(): number {
    return this.#state.spent;
  }

  /** True if the download may begin with one request for all the rest. */
  get isOpenEnded(): boolean {
    return this.#state.isOpenEnded;
  }

  /** True while a reader prefers bytes. */
  get isRead(): boolean {
    return this.#state.reader !== undefined;
  }

  /** Requests under way. */
  get running(): readonly Assignment[] {
    return this.#state.running;
  }

  /** Lists the parts of `range` that are not stored, ascending. */
  missing(range: ByteRange): ByteRange[] {
    return this.#state.stored.missing(range);
  }

  isStored(range: ByteRange): boolean {
    return this.#state.stored.nextMissing(range.start) >= range.end;
  }

  /** Adds a source that may be asked from now on; a source added again keeps its forecast. */
  addSource(id: string, options: SourceOptions = {}): void {
    const { owns, chunkBytes, holds, hasPeers = false } = options;
    const own =
      owns === undefined || chunkBytes === undefined
        ? undefined
        : new OwnChunks(this.#length, chunkBytes, owns);
    this.#state.sources.add(id, { own, holds, hasPeers });
  }

  /** Returns true if a source has bytes that are not stored. */
  canBring(id: string): boolean {
    const { sources, stored } = this.#state;
    const source = sources.get(id);
    if (source === undefined || this.done) return false;
    const missing = { start: stored.nextMissing(0), end: this.#length };
    for (const run of heldRuns(source.holds, missing)) if (!this.isStored(run)) return true;
    return false;
  }

  /** Forecasts the bytes per second of one more request to the source; undefined: unknown. */
  forecast(id: string, now: Millis): number | undefined {
    const source = this.#state.sources.get(id);
    return source === undefined ? undefined : this.#state.sources.forecast(source, now);
  }

  /** Forecasts the bytes per second of all requests to the source; undefined: not known yet. */
  pace(id: string, now: Millis): number | undefined {
    const source = this.#state.sources.get(id);
    return source === undefined ? undefined : paceOf(this.#state, source, now);
  }

  /** Prefers the bytes of a reader from `position` on; undefined: there is no reader any more. */
  prefer(position: number | undefined, lookAheadBytes = LOOK_AHEAD_BYTES): void {
    this.#state.reader =
      position === undefined ? undefined : { position, lookAhead: lookAheadBytes };
  }

  /**
   * Says whether the client itself holds its sources back (a rate limit, a full disk). While it
   * does, silence is not their fault: nothing is taken over or fetched twice.
   */
  throttle(on: boolean): void {
    this.#state.throttled = on;
  }

  /**
   * Sets the number of requests at a time over all sources, by which first requests are sized.
   *
   * @param isProbing true if further requests only serve to time their answers
   */
  setConnections(count: number, isProbing = false): void {
    this.#state.connections = Math.max(1, count);
    this.#state.isProbing = isProbing;
  }

  /**
   * Sets how many sources share the work. While it is one, with one connection, its request asks for
   * all the rest. Until this is called, all sources count.
   */
  setSharing(sources: number): void {
    this.#state.sharing = sources;
  }

  /** Notes bytes that are stored already, from an earlier run. */
  addStored(range: ByteRange): void {
    this.#state.stored.add(range);
    this.#loci?.onStored(range, this.#state.stored);
  }

  /** Notes bytes that have turned out wrong: they must be fetched again. */
  discard(range: ByteRange): void {
    this.#state.stored.remove(range);
    this.#state.sources.reopen(range.start);
    this.#loci?.onLost(range);
  }

  /**
   * Chooses what a free connection of a source fetches next, in this order: the rest of a request
   * that a reader waits for or that is late (LOCI 3.2, rule 1); bytes that no request covers
   * (rule 2); the end of the request that would finish last; the bytes of that request once more
   * (rule 3).
   *
   * @returns bytes that the source has; undefined if there is nothing for it to do now
   */
  next(id: string, now: Millis): Assignment | undefined {
    const { sources, running } = this.#state;
    const source = sources.get(id);
    if (source === undefined || this.done) return undefined;
    source.polledAt = now;
    boundOpenEnded(this.#state, source, now);
    const choice =
      this.#loci === undefined
        ? choose(this.#state, source, now)
        : this.#loci.choose(this.#state, source);
    if (choice === undefined) return undefined;
    const expectedMs = sources.expectedMs(source, rangeBytes(choice.range), now);
    const request = new RunningRequest(source, choice, expectedMs, now);
    sources.onStart(source, now);
    running.push(request);
    return request;
  }

  /**
   * Notes that bytes of a request are stored. Only bytes below the request's `end` may be passed.
   *
   * @returns requests that have no bytes left to fetch, whose connections should end
   */
  onBytes(assignment: Assignment, range: ByteRange, now: Millis): readonly Assignment[] {
    const request = assignment as RunningRequest;
    const { sources, stored, running } = this.#state;
    const source = sources.get(request.source);
    if (source !== undefined) sources.onBytes(source, now);
    request.advance(range, now);
    this.#state.spent += rangeBytes(range) - stored.add(range);
    this.#loci?.onStored(range, stored);
    let outdone: RunningRequest[] | undefined;
    for (const other of running) {
      if (!this.#isOutdone(other, request, range, now)) continue;
      other.told = true;
      outdone ??= [];
      outdone.push(other);
    }
    return outdone ?? NONE;
  }

  /** Notes that a source has sent bytes that others bring by now: it is not silent. */
  onSurplus(id: string, now: Millis): void {
    const source = this.#state.sources.get(id);
    if (source !== undefined) this.#state.sources.onBytes(source, now);
  }

  /**
   * Ends a request; bytes that it has not brought are free for others at once.
   *
   * @param outcome `complete` if it has brought everything up to its `end`
   */
  onEnd(assignment: Assignment, outcome: 'complete' | 'failed' | 'cancelled', now: Millis): void {
    const request = assignment as RunningRequest;
    const { sources, stored, running } = this.#state;
    const at = running.indexOf(request);
    if (at < 0) return;
    running.splice(at, 1);
    this.#loci?.onEnd(request);
    request.rate.end(now);
    const source = sources.get(request.source);
    if (source !== undefined) sources.onEnd(source, now);
    const { start, end } = request.range;
    const hole = stored.nextMissing(start);
    if (hole < end) sources.reopen(hole);
    if (outcome !== 'complete') return;
    for (const other of running) if (other.range.start < start) other.overtaken++;
  }

  /** Returns true if `other` can stop, now that `winner` has brought the bytes of `range`. */
  #isOutdone(
    other: RunningRequest,
    winner: RunningRequest,
    range: ByteRange,
    now: Millis,
  ): boolean {
    if (other.told || (other === winner && other.position >= other.end)) return false;
    if (other.obsolete) return true;
    const { position, end } = other;
    const { stored, sources } = this.#state;
    // Others may have stored all that a request still has to bring, this one included.
    const isNear = other === winner || (range.start < end && range.end > position);
    if (isNear && stored.nextMissing(position) >= end) return true;
    // The paper's requests for one block all go on until it is there.
    if (other === winner || position >= end || this.#loci !== undefined) return false;
    if (position < winner.range.start || position >= winner.position) return false;
    // `other` is behind `winner`, in stored bytes, and not faster: it will never bring a new byte.
    const rates = [other, winner].map((r) => sources.rate(r, now) ?? 0) as [number, number];
    return rates[0] <= rates[1];
  }
}
