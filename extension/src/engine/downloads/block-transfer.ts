/**
 * Fetches the missing bytes of a file over several connections at a time, from every source that may
 * be asked, until all are stored (LOCI 3.2; ANYCAST 3.1). What to fetch from whom is the scheduler's
 * to say; this carries it out.
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
import type { FetchSource } from '../sources/fetch-source.ts';
import type { HostSlots, SlotHolder } from '../sources/host-slots.ts';
import { Sources } from '../sources/source-set.ts';
import { type Partial, UNIT_BYTES } from '../storage/opfs-store.ts';

export interface TransferOptions {
  readonly partial: Partial;
  readonly scheduler: Scheduler;
  readonly sources: readonly FetchSource[];
  readonly slots: HostSlots;
  readonly version: PinnedVersion;
  readonly connections: number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Resolves after so long, or when the signal is aborted. */
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** Counts bytes as they come in. */
  readonly onBytes: (count: number) => void;
}

/** One request under way. */
interface Running {
  readonly source: FetchSource;
  /** That it was sent to. */
  readonly host: string;
  readonly assignment: Assignment;
  readonly abort: AbortController;
  /** When it was made, and then when it has brought something last. */
  heardAt: Millis;
  readonly startedAt: Millis;
  /** What this answer has brought so far. */
  readonly got: RangeSet;
  /** Up to here the journal has been told. */
  proven: number;
  position: number;
  /** There is a digest of the body: what it brings is believed when all of it is there. */
  checked: boolean;
}

/** The request is not to go on: others have brought it or taken it over, or have its connection. */
const ENOUGH = new Error('enough');
/** Edges from which nothing has come for so long get help from the origin. */
const LIFELESS_MS = 3000;
/** How long answering, and sending nothing, may each take. */
const TIMEOUT_MS = 20_000;

export class Transfer implements SlotHolder {
  readonly #options: TransferOptions;
  readonly #sources: Sources;
  readonly #stop = new AbortController();
  readonly #running = new Set<Running>();
  #lastBytesAt: Millis;
  #wake: (() => void)[] = [];
  #pausing = 0;

  constructor(options: TransferOptions) {
    this.#options = options;
    this.#lastBytesAt = options.now();
    const { scheduler, version, connections, slots, now } = options;
    this.#sources = new Sources(options.sources, {
      slots,
      holder: this,
      connections,
      missingBytes: () => version.length - scheduler.storedBytes,
      now,
    });
  }

  /** True while there is nobody to ask. */
  get waiting(): boolean {
    return this.#running.size === 0 && this.#pausing > 0 && !this.#options.scheduler.done;
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
    // Bytes can be taken back while the last requests end: then there is more to do.
    while (!scheduler.done && !this.#stop.signal.aborted) {
      await Promise.all(Array.from({ length: connections }, () => this.#work()));
    }
    signal.removeEventListener('abort', onAbort);
    this.#sources.leave();
    if (!scheduler.done) throw this.#stop.signal.reason;
  }

  /** To be called every second or so: ends requests that bring nothing. */
  tick(): void {
    const { now } = this.#options;
    for (const { heardAt, abort } of this.#running) {
      if (now() - heardAt > TIMEOUT_MS) abort.abort(new MillraceError('origin-timeout'));
    }
  }

  /** The network may have come back. */
  retryNow(): void {
    this.#sources.retryNow();
    this.#wakeAll();
  }

  /** A source more. */
  join(source: FetchSource): void {
    if (this.#stop.signal.aborted) return;
    this.#options.scheduler.addSource(source.id);
    this.#sources.add(source);
    this.#wakeAll();
  }

  /** Other downloads have a right to the connections: the youngest requests end, their bytes stay. */
  giveBack(host: string, count: number): void {
    const running = [...this.#running].filter((one) => one.host === host);
    const ending = running.filter(({ abort }) => abort.signal.aborted).length;
    const chosen = running
      .filter(({ abort }) => !abort.signal.aborted)
      .sort((a, b) => Number(a.checked) - Number(b.checked) || b.startedAt - a.startedAt)
      .slice(0, Math.max(0, count - ending));
    for (const { abort } of chosen) abort.abort(ENOUGH);
  }

  onRoom(): void {
    this.#wakeAll();
  }

  /** One connection: request after request until there is nothing left. */
  async #work(): Promise<void> {
    const { scheduler } = this.#options;
    while (!scheduler.done && !this.#stop.signal.aborted) {
      const next = this.#next();
      if (next === undefined) await this.#pause();
      else await this.#exchange(next.source, next.assignment);
    }
    this.#wakeAll();
  }

  #next(): { source: FetchSource; assignment: Assignment } | undefined {
    const { scheduler, now } = this.#options;
    const lifeless = now() - this.#lastBytesAt > LIFELESS_MS;
    for (const source of this.#sources.candidates(lifeless)) {
      const assignment = scheduler.next(source.id, now());
      if (assignment !== undefined) return { source, assignment };
    }
    return undefined;
  }

  /** Runs one request and draws the conclusions from how it ends. */
  async #exchange(source: FetchSource, assignment: Assignment): Promise<void> {
    const { scheduler, now, version } = this.#options;
    const { host } = source;
    const { start } = assignment.range;
    const running: Running = {
      source,
      host,
      assignment,
      abort: new AbortController(),
      heardAt: now(),
      startedAt: now(),
      got: new RangeSet(),
      proven: start,
      position: start,
      checked: false,
    };
    if (!this.#sources.started(source)) return scheduler.onEnd(assignment, 'cancelled', now());
    this.#running.add(running);
    let outcome: 'complete' | 'failed' | 'cancelled' = 'complete';
    try {
      const signal = AbortSignal.any([this.#stop.signal, running.abort.signal]);
      const opened = await source.open({ start, end: assignment.end }, version, signal);
      running.heardAt = now();
      running.checked = opened.checked;
      await opened.read((position, bytes) => {
        try {
          this.#take(running, position, bytes);
        } catch (error) {
          opened.discard();
          throw error;
        }
      });
      running.checked = false;
      source.vouch();
    } catch (thrown) {
      outcome = 'failed';
      if (thrown !== ENOUGH) this.#onFailure(running, thrown);
      else outcome = this.#isDone(running) ? 'complete' : 'cancelled';
    } finally {
      this.#running.delete(running);
      if (running.checked) this.#discard(running.got);
      else this.#prove(running, running.position);
      this.#doubt(source);
      this.#sources.ended(source, host, outcome === 'complete');
      scheduler.onEnd(assignment, outcome, now());
      this.#wakeAll();
    }
  }

  #take(running: Running, position: number, bytes: Uint8Array): void {
    const { partial, scheduler, onBytes, now } = this.#options;
    const { source, assignment, got } = running;
    if (running.abort.signal.aborted) throw ENOUGH;
    this.#lastBytesAt = source.heardAt = running.heardAt = now();
    source.health.onBytes();
    source.receivedBytes += bytes.length;
    onBytes(bytes.length);
    // Bytes past the end have become another connection's.
    const end = Math.min(position + bytes.length, assignment.end);
    if (end > position) {
      const range = { start: position, end };
      partial.write(position, bytes.subarray(0, end - position) as Uint8Array<ArrayBuffer>);
      got.add(range);
      source.gave(range);
      running.position = end;
      this.#prove(running, end - (end % UNIT_BYTES));
      for (const late of scheduler.onBytes(assignment, range, now())) this.#cancel(late);
    }
    const cut = assignment.end < assignment.range.end && !running.checked;
    if (cut && this.#isDone(running)) throw ENOUGH;
  }

  /** Has the journal say what there is, in whole units where that is possible. */
  #prove(running: Running, end: number): void {
    const { proven, checked } = running;
    if (checked || end <= proven) return;
    running.proven = end;
    this.#options.partial.prove({ start: proven, end });
  }

  #isDone({ assignment, got }: Running): boolean {
    return got.covers({ start: assignment.range.start, end: assignment.end });
  }

  #cancel(assignment: Assignment): void {
    for (const running of this.#running) {
      if (running.assignment === assignment) running.abort.abort(ENOUGH);
    }
  }

  #onFailure(running: Running, thrown: unknown): void {
    if (this.#stop.signal.aborted) return;
    const { source, got } = running;
    const error = asMillraceError(thrown);
    if (endsDownload(error.row)) return this.#end(error);
    // One that has sent something meanwhile, on whichever connection, is there (ANYCAST 3.1.1).
    const isThere = got.bytes > 0 || source.heardAt > running.startedAt;
    this.#sources.onFailure(source, error, isThere);
    if (source.health.quarantine !== undefined) {
      for (const other of this.#running) {
        if (other.source === source) other.abort.abort(ENOUGH);
      }
    }
    if (error.row.bytes !== 'dropped') return;
    running.proven = running.position;
    if (!running.checked) this.#discard(got);
  }

  /**
   * Takes back what a source in quarantine has given since it was last shown to keep the contract.
   * Only when none of its requests is under way: what they are still writing would count again.
   */
  #doubt(source: FetchSource): void {
    const reason = source.health.quarantine;
    if (reason?.row.bytes !== 'dropped') return;
    for (const running of this.#running) if (running.source === source) return;
    this.#discard(source.takeUnproven());
  }

  #discard({ ranges }: RangeSet): void {
    if (ranges.length === 0) return;
    const { partial, scheduler } = this.#options;
    try {
      partial.forget(ranges);
    } catch (error) {
      return this.#end(error);
    }
    for (const range of ranges) scheduler.discard(range);
  }

  /** Waits until something has changed, or until it is time to look again. */
  async #pause(): Promise<void> {
    const { now, wait } = this.#options;
    let ms = ASK_AGAIN_MS;
    if (this.#running.size === 0) {
      const at = this.#sources.nextUsableAt();
      if (at === undefined) {
        return this.#end(this.#sources.failure() ?? new MillraceError('origin-unreachable'));
      }
      ms = Math.max(ms, at - now());
    }
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#wake.push(wake);
    this.#pausing++;
    await wait(ms, woken.signal);
    this.#pausing--;
    const at = this.#wake.indexOf(wake);
    if (at >= 0) this.#wake.splice(at, 1);
  }

  #end(reason: unknown): void {
    if (!this.#stop.signal.aborted) this.#stop.abort(reason);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
