/**
 * Fetches the missing bytes of a partial file over several connections at a time, from every
 * source that has been shown to hold the file, until all are stored (LOCI 3.2; ANYCAST 3.1). What
 * to fetch from whom is the scheduler's to say; this carries it out.
 */

import { RangeSet } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, endsDownload, MillraceError } from '@millrace/shared/base/errors';
import {
  ASK_AGAIN_MS,
  type Assignment,
  type Scheduler,
} from '@millrace/shared/download/scheduler/scheduler';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import { SegmentWriter } from '../partial/segment-writer.ts';
import type { HttpSource } from '../sources/http-source.ts';
import type { Opened, Sink } from '../sources/source-answer.ts';
import type { SourceSet } from '../sources/source-set.ts';

export interface BlockTransferOptions {
  readonly file: PartialFile;
  readonly scheduler: Scheduler;
  readonly sources: SourceSet;
  readonly pool: SegmentPool;
  readonly connections: number;
  /** How long to go on without a single byte from anywhere; undefined: for ever. */
  readonly retryForMs: Millis | undefined;
  /** How long to go on with no request under way; undefined: as long as `retryForMs`. */
  readonly yieldsAfterMs?: Millis | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly signal: AbortSignal;
  /** Counts bytes as they come in; a promise holds the source back (rate limit). */
  readonly onBytes: (
    source: HttpSource,
    count: number,
    signal: AbortSignal,
  ) => Promise<void> | undefined;
  readonly onSourceFailed: (source: HttpSource, error: MillraceError) => void;
  /** Told when there is no source to ask, and again when there is. */
  readonly onWaiting: (waiting: boolean) => void;
  /** Resolves when the network has changed (true), or at the deadline or with the signal (false). */
  readonly networkChange: (deadlineMs: Millis, signal: AbortSignal) => Promise<boolean>;
}

/** One request under way. */
interface Running {
  readonly source: HttpSource;
  readonly assignment: Assignment;
  readonly abort: AbortController;
  /** Ends with the request or with the transfer. */
  readonly signal: AbortSignal;
  readonly startedAt: Millis;
  /** What this answer has brought so far. */
  readonly got: RangeSet;
  /** There is a digest of the body: what it brings is believed when all of it is there. */
  checked: boolean;
}

/** The request has nothing left to do: others have brought it, or taken it over. */
const ENOUGH = new Error('enough');
/** Edges from which nothing has come for so long get help from the origin. */
const LIFELESS_MS = 3000;
/** Sources with a connection of their own, beside those that all share. */
const MAX_OWN_WORKERS = 8;

export class BlockTransfer {
  readonly #options: BlockTransferOptions;
  readonly #stop = new AbortController();
  readonly #running = new Set<Running>();
  /** Connections at work. */
  readonly #working = new Set<Promise<void>>();
  /** Sources that have a connection of their own. */
  readonly #workers = new Set<HttpSource>();
  #lastBytesAt: Millis;
  /** When, since the last byte came, no request was under way for the first time. */
  #idleSince: Millis | undefined;
  #wake: (() => void)[] = [];
  #waiting = false;
  /** Reads that wait for the disk or for a rate limit. */
  #holding = 0;

  constructor(options: BlockTransferOptions) {
    this.#options = options;
    this.#lastBytesAt = options.now();
  }

  /**
   * Runs until every byte is stored.
   *
   * @throws MillraceError; the signal's reason. What has come in by then is stored.
   */
  async run(): Promise<void> {
    const { scheduler, signal, connections } = this.#options;
    const onAbort = () => this.#end(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      // Bytes can be taken back while the last requests end: then there is more to do.
      while (!scheduler.done && !this.#stop.signal.aborted) {
        this.#workers.clear();
        const shared = Math.max(Math.ceil(connections / 2), connections - this.#others());
        for (let i = 0; i < shared; i++) this.#begin(this.#work());
        this.#attend();
        while (this.#working.size > 0) await Promise.all(this.#working);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#setWaiting(false);
    }
    if (!scheduler.done) throw this.#stop.signal.reason;
  }

  /** Something has changed outside: a source was added, or the order of what is wanted. */
  kick(): void {
    if (this.#working.size > 0) this.#attend();
    this.#wakeAll();
  }

  /** Ends the transfer for a reason of the caller's. */
  stop(reason: MillraceError): void {
    this.#end(reason);
  }

  /** Sources that may get a connection of their own: all but one. */
  #others(): number {
    return Math.min(MAX_OWN_WORKERS, Math.max(0, this.#options.sources.sources.length - 1));
  }

  /**
   * Gives every source but the first a connection of its own (LOCI 3.2.1: so many threads per
   * server). Else one that never comes to an end could hold all connections, and no free one would
   * be left to take over from it.
   */
  #attend(): void {
    const [, ...others] = this.#options.sources.sources.filter(
      ({ version }) => version !== undefined,
    );
    for (const source of others) {
      if (this.#workers.size >= MAX_OWN_WORKERS || this.#workers.has(source)) continue;
      this.#workers.add(source);
      this.#begin(this.#work(source));
    }
  }

  #begin(work: Promise<void>): void {
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work)).catch(() => {});
  }

  /**
   * One connection: request after request until there is nothing left.
   *
   * @param own the only source that it asks; undefined: any
   */
  async #work(own?: HttpSource): Promise<void> {
    const { scheduler } = this.#options;
    while (!scheduler.done && !this.#stop.signal.aborted) {
      if (own?.health.quarantine !== undefined) return;
      const next = this.#next(own);
      if (next === undefined) await this.#pause();
      else await this.#exchange(next.source, next.assignment);
    }
    this.#wakeAll();
  }

  #next(own: HttpSource | undefined): { source: HttpSource; assignment: Assignment } | undefined {
    const { sources, scheduler, now } = this.#options;
    const lifeless = now() - this.#lastBytesAt > LIFELESS_MS;
    for (const source of sources.candidates(lifeless)) {
      if (own !== undefined && source !== own) continue;
      const assignment = scheduler.next(source.id, now());
      if (assignment !== undefined) return { source, assignment };
    }
    return undefined;
  }

  /** Runs one request and draws the conclusions from how it ends. */
  async #exchange(source: HttpSource, assignment: Assignment): Promise<void> {
    const { file, sources, scheduler, now } = this.#options;
    const abort = new AbortController();
    const running: Running = {
      source,
      assignment,
      abort,
      signal: AbortSignal.any([this.#stop.signal, abort.signal]),
      startedAt: now(),
      got: new RangeSet(),
      checked: false,
    };
    const { signal } = running;
    this.#running.add(running);
    this.#setWaiting(false);
    sources.started(source);
    let outcome: 'complete' | 'failed' | 'cancelled' = 'complete';
    try {
      const range = { start: assignment.range.start, end: assignment.end };
      const opened = await source.openRange(range, source.version as PinnedVersion, signal);
      running.checked = opened.kind === 'range' && opened.checked;
      await this.#read(running, opened);
      if (running.checked) for (const part of running.got.ranges) await file.confirm(part);
      running.checked = false;
      source.vouch();
    } catch (thrown) {
      if (thrown === ENOUGH) {
        outcome = this.#isDone(running) ? 'complete' : 'cancelled';
      } else {
        outcome = 'failed';
        await this.#onFailure(running, thrown);
      }
    } finally {
      this.#running.delete(running);
      if (running.checked) await this.#discard(running.got);
      await this.#doubt(source);
      sources.ended(source, outcome === 'complete');
      scheduler.onEnd(assignment, outcome, now());
      this.#wakeAll();
    }
  }

  async #read(running: Running, opened: Opened): Promise<void> {
    const { file, pool } = this.#options;
    const writer = new SegmentWriter(file, pool, running.assignment.range.start, running.checked);
    const take: Sink = (position, bytes) => this.#take(running, writer, position, bytes);
    try {
      // The end may have come nearer: what is beyond it is another connection's.
      await opened.read(take, () => writer.room(running.assignment.end));
    } finally {
      // Whatever came in stays, also when the answer broke off.
      await writer.end();
    }
  }

  #take(
    running: Running,
    writer: SegmentWriter,
    position: number,
    bytes: Uint8Array,
  ): Promise<void> | undefined {
    const { scheduler, sources, onBytes, now } = this.#options;
    const { source, assignment, got } = running;
    if (running.abort.signal.aborted) throw ENOUGH;
    this.#lastBytesAt = source.heardAt = now();
    this.#idleSince = undefined;
    source.health.onBytes();
    sources.onBytes(source, bytes.length);
    // Bytes past the end have become another connection's.
    const length = Math.min(bytes.length, assignment.end - position);
    const limit = onBytes(source, bytes.length, running.signal);
    let wait = limit;
    if (length > 0) {
      const range = { start: position, end: position + length };
      const room = writer.write(
        position,
        length < bytes.length ? bytes.subarray(0, length) : bytes,
      );
      got.add(range);
      source.unproven.add(range);
      source.given.add(range);
      for (const late of scheduler.onBytes(assignment, range, now())) this.#cancel(late);
      if (room !== undefined) wait = room.then(() => limit);
    }
    const cut = assignment.end < assignment.range.end && !running.checked;
    if (cut && this.#isDone(running)) throw ENOUGH;
    return wait === undefined ? undefined : this.#heldBack(wait);
  }

  /** While we hold sources back ourselves, their silence means nothing. */
  async #heldBack(wait: Promise<void>): Promise<void> {
    const { scheduler } = this.#options;
    if (this.#holding++ === 0) scheduler.throttle(true);
    try {
      await wait;
    } finally {
      if (--this.#holding === 0) scheduler.throttle(false);
    }
  }

  #isDone({ assignment, got }: Running): boolean {
    return got.covers({ start: assignment.range.start, end: assignment.end });
  }

  #cancel(assignment: Assignment): void {
    for (const running of this.#running) {
      if (running.assignment === assignment) running.abort.abort(ENOUGH);
    }
  }

  async #onFailure(running: Running, thrown: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { sources, onSourceFailed } = this.#options;
    const { source, got } = running;
    const error = asMillraceError(thrown);
    if (endsDownload(error.row)) return this.#end(error);
    // One that has sent something meanwhile, on whichever connection, is there (ANYCAST 3.1.1).
    const isThere = got.bytes > 0 || source.heardAt > running.startedAt;
    sources.onFailure(source, error, isThere);
    if (source.health.quarantine !== undefined) {
      onSourceFailed(source, error);
      for (const other of this.#running) {
        if (other.source === source) other.abort.abort(ENOUGH);
      }
    }
    if (error.row.bytes === 'dropped') await this.#discard(got);
  }

  /**
   * Takes back what a source in quarantine has given since it was last shown to keep the contract.
   * Only when none of its requests is under way: what they are still writing would count again.
   */
  async #doubt(source: HttpSource): Promise<void> {
    const reason = source.health.quarantine;
    if (reason?.row.bytes !== 'dropped') return;
    for (const running of this.#running) if (running.source === source) return;
    await this.#discard(source.takeUnproven());
  }

  /** The file first: what it still has would not be written again. */
  async #discard(ranges: RangeSet): Promise<void> {
    const { file, scheduler } = this.#options;
    for (const range of [...ranges.ranges]) {
      try {
        await file.forget(range);
      } catch (error) {
        return this.#end(error);
      }
      scheduler.discard(range);
    }
  }

  /** Waits until something has changed, or until it is time to look again. */
  async #pause(): Promise<void> {
    const { sources, now, networkChange } = this.#options;
    let wakeAt = now() + ASK_AGAIN_MS;
    if (this.#running.size === 0) {
      const at = this.#restUntil();
      if (at === undefined) return;
      this.#setWaiting(sources.allDown);
      wakeAt = Math.max(wakeAt, at);
    }
    const woken = new AbortController();
    this.#wake.push(() => woken.abort());
    if (this.#waiting) {
      const changed = await networkChange(wakeAt, woken.signal);
      if (changed) for (const { health } of sources.sources) health.retryNow(now());
      return;
    }
    const timer = setTimeout(() => woken.abort(), wakeAt - now());
    await new Promise((resolve) => woken.signal.addEventListener('abort', resolve));
    clearTimeout(timer);
  }

  /** When a source can be asked again; undefined if the download has to be given up. */
  #restUntil(): Millis | undefined {
    const { sources, now, retryForMs, yieldsAfterMs = Infinity } = this.#options;
    const at = sources.nextUsableAt();
    this.#idleSince ??= now();
    const patience = retryForMs === undefined ? Infinity : this.#lastBytesAt + retryForMs;
    const giveUpAt = Math.min(patience, this.#idleSince + yieldsAfterMs);
    // A server may ask for hours of patience (Retry-After): nobody is kept waiting in vain.
    if (at !== undefined && now() < giveUpAt && at <= giveUpAt) return at;
    this.#end(sources.failure() ?? new MillraceError('origin-unreachable'));
    return undefined;
  }

  #setWaiting(waiting: boolean): void {
    if (this.#waiting === waiting) return;
    this.#waiting = waiting;
    this.#options.onWaiting(waiting);
  }

  #end(reason: unknown): void {
    if (!this.#stop.signal.aborted) this.#stop.abort(reason);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
