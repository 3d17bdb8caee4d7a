/**
 * Fetches the missing bytes of a file over several connections at a time, from every usable source,
 * until all are stored (LOCI 3.2; ANYCAST 3.1). The scheduler decides which bytes are fetched from
 * which source, and the pool decides which sources are usable; this class carries out their
 * decisions, for the app and the extension.
 */

import { RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { asMillraceError, endsDownload, MillraceError } from '../../base/errors.ts';
import { ConnectionCount } from '../connections/connection-count.ts';
import { ASK_AGAIN_MS, type Assignment } from '../scheduler/scheduler.ts';
import { Distrust } from './distrust.ts';
import { Patience } from './patience.ts';
import { RequestsUnderWay, type RequestUnderWay } from './requests-under-way.ts';
import type { Session } from './session.ts';
import { FOR_READER, OWN_CONNECTIONS, STILL_MS } from './transfer-limits.ts';
import type { BlockTransferOptions, OpenAnswer, RangeWriter, Sink } from './transfer-ports.ts';
import type { TransferSource } from './transfer-source.ts';
import { Wakeable } from './wakeable.ts';

/** Ends a request whose bytes others bring, or whose connection goes to another download. */
const ENOUGH = new Error('enough');

export class BlockTransfer<S extends TransferSource> {
  readonly #options: BlockTransferOptions<S>;
  readonly #session: Session<S>;
  readonly #stop = new AbortController();
  readonly #running: RequestsUnderWay<S>;
  /** Connections at work. */
  readonly #working = new Set<Promise<void>>();
  /** Sources that have a connection of their own. */
  readonly #workers = new Set<S>();
  readonly #patience: Patience;
  readonly #count: ConnectionCount;
  readonly #distrust: Distrust;
  /** Connections that have nothing to do at present. */
  readonly #pausing = new Wakeable();
  #waiting = false;
  /** Failure of the store to write bytes: the scheduler has counted them as they came. */
  #unstored: MillraceError | undefined;
  /** Requests that have not ended, with all that follows: their bytes may still be taken back. */
  #exchanges = 0;

  constructor(options: BlockTransferOptions<S>) {
    this.#options = options;
    this.#session = options.session;
    const now = this.#session.now();
    this.#running = new RequestsUnderWay(now);
    this.#patience = new Patience(this.#session, now);
    const { connections: most, known, scheduler } = options;
    this.#count = new ConnectionCount({ most, known, beginsWithOne: scheduler.isOpenEnded }, now);
    scheduler.setConnections(this.#count.count);
    this.#distrust = new Distrust(options, (reason) => this.#end(reason));
  }

  /** Connections that the transfer needs; undefined: not known yet. */
  get needed(): number | undefined {
    return this.#count.confirmed;
  }

  /** True while no source can be asked. */
  get idle(): boolean {
    return this.#running.size === 0 && this.#pausing.count > 0 && !this.#options.scheduler.done;
  }

  /**
   * Runs until every byte is stored.
   *
   * @throws MillraceError; the signal's reason. The bytes received by then are stored.
   */
  async run(): Promise<void> {
    const { scheduler, connections, pool } = this.#options;
    const { signal } = this.#session;
    const onAbort = () => this.#end(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      // Bytes can be taken back while the last requests end.
      while (!scheduler.done && !this.#stop.signal.aborted) {
        this.#workers.clear();
        const others = Math.min(OWN_CONNECTIONS, Math.max(0, pool.sources.length - 1));
        const shared = Math.max(Math.ceil(connections / 2), connections - others);
        for (let i = 0; i < shared; i++) this.#begin(this.#work());
        this.#attend();
        while (this.#working.size > 0) await Promise.all(this.#working);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#setWaiting(false);
    }
    if (this.#unstored || !scheduler.done) throw this.#unstored ?? this.#stop.signal.reason;
  }

  /** Looks for work again after a source was added or the order of the wanted bytes changed. */
  kick(): void {
    if (this.#working.size > 0) this.#attend();
    this.#pausing.wakeAll();
  }

  /** Ends the transfer with the caller's reason. */
  stop(reason: MillraceError): void {
    this.#end(reason);
  }

  /** Retries unreachable sources at once, because the network may have come back. */
  retryNow(): void {
    this.#options.pool.retryNow();
    this.#pausing.wakeAll();
  }

  /** Ends requests that have been silent for longer than `ms`; call it about every second. */
  endSilent(ms: Millis): void {
    // While we hold sources back ourselves, their silence means nothing.
    if (this.#running.isHeld) return;
    const now = this.#session.now();
    const reason = new MillraceError('origin-timeout');
    this.#running.end(reason, ({ heardAt }) => now - heardAt > ms);
  }

  /**
   * Ends the youngest requests to a host, to give their connections to other downloads.
   *
   * @param count number of requests, including those that are already ending
   */
  giveBack(host: string, count: number): void {
    this.#running.endYoungest(host, count, ENOUGH);
  }

  /**
   * Gives every source its own connection once there are several (LOCI 3.2.1: threads per server):
   * sources that never finish could otherwise hold all connections.
   */
  #attend(): void {
    const [first, ...others] = this.#options.pool.admitted;
    if (first === undefined || others.length === 0) return;
    // The first source comes last: it has the shared connections as well.
    for (const source of [...others, first]) {
      if (this.#workers.has(source)) continue;
      this.#workers.add(source);
      this.#begin(this.#work(source));
    }
  }

  #begin(work: Promise<void>): void {
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work)).catch(() => {});
  }

  /**
   * Runs one connection: makes request after request until nothing is left.
   *
   * @param own the only source that this connection asks; undefined: any source
   */
  async #work(own?: S): Promise<void> {
    const { scheduler } = this.#options;
    while ((!scheduler.done || this.#exchanges > 0) && !this.#stop.signal.aborted) {
      if (own?.health.quarantine !== undefined) return;
      const next = this.#next(own);
      if (next === undefined) await this.#pause();
      else {
        this.#exchanges++;
        await this.#exchange(next.source, next.assignment).finally(() => {
          this.#exchanges--;
          this.#pausing.wakeAll();
        });
      }
    }
    this.#pausing.wakeAll();
  }

  #next(own: S | undefined): { source: S; assignment: Assignment } | undefined {
    const { pool, scheduler } = this.#options;
    const now = this.#session.now();
    this.#count.setSources(pool.inUse);
    scheduler.setSharing(pool.inUse);
    const count = Math.max(this.#count.count, scheduler.isRead ? FOR_READER : 1);
    // A request that stands still does not keep others from being made.
    const isFull = this.#running.alive(now - STILL_MS) >= count;
    if (isFull) {
      if (own === undefined || pool.active(own) > 0) return undefined;
      // Sources that only drip are no reason to leave one unasked: it may be the only good one.
      if (this.#running.lively(now) > OWN_CONNECTIONS) return undefined;
    }
    for (const source of pool.candidates(this.#running.isLifeless(now))) {
      if (own !== undefined && source !== own) continue;
      const assignment = scheduler.next(source.id, now);
      if (assignment !== undefined) return { source, assignment };
    }
    return undefined;
  }

  /** Runs one request and draws the conclusions from how it ends. */
  async #exchange(source: S, assignment: Assignment): Promise<void> {
    const { store, pool, scheduler, open } = this.#options;
    const { now } = this.#session;
    const host = pool.started(source);
    if (host === undefined) return scheduler.onEnd(assignment, 'cancelled', now());
    const running: RequestUnderWay<S> = {
      source,
      host,
      assignment,
      abort: new AbortController(),
      startedAt: now(),
      heardAt: now(),
      got: new RangeSet(),
      checked: false,
      defines: false,
    };
    this.#running.add(running);
    this.#setWaiting(false);
    let outcome: 'complete' | 'failed' | 'cancelled' = 'complete';
    const request = source.onAsked();
    try {
      const range = { start: assignment.range.start, end: assignment.end };
      const answer = await open(source, range, running.abort.signal);
      running.heardAt = now();
      if (answer.headMs !== undefined) this.#count.onHead(source.id, answer.headMs);
      running.checked = answer.checked;
      running.defines = answer.defines === true;
      // The answer that defines the file began before all others, and shows nothing new.
      if (!running.defines) source.onShown(request);
      await this.#read(running, answer);
      if (running.checked) for (const part of running.got.ranges) await store.confirm(part);
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
      this.#running.delete(running, now());
      if (running.checked) await this.#distrust.discard(running.got);
      await this.#distrust.source(source, this.#running.isAsked(source));
      pool.ended(source, host, outcome === 'complete');
      scheduler.onEnd(assignment, outcome, now());
    }
  }

  async #read(running: RequestUnderWay<S>, answer: OpenAnswer): Promise<void> {
    const { assignment, checked } = running;
    const writer = this.#options.store.writer(assignment.range.start, checked);
    const take: Sink = (position, bytes) => this.#take(running, writer, position, bytes);
    // The end may have moved closer: the bytes beyond it belong to another connection.
    const room = writer.room?.bind(writer);
    try {
      await answer.read(take, room && (() => room(assignment.end)));
    } finally {
      // The received bytes are kept even if the answer broke off.
      await writer.end().catch((error: unknown) => {
        this.#unstored = asMillraceError(error);
        throw error;
      });
    }
  }

  #take(
    running: RequestUnderWay<S>,
    writer: RangeWriter,
    position: number,
    bytes: Uint8Array,
  ): Promise<void> | undefined {
    const { scheduler, pool } = this.#options;
    const { onBytes, now } = this.#session;
    const { source, assignment, got } = running;
    running.abort.signal.throwIfAborted();
    source.heardAt = running.heardAt = now();
    this.#running.onBytes(running, bytes.length);
    source.health.onBytes();
    pool.onBytes(source, bytes.length);
    if (this.#count.onBytes(bytes.length, this.#running.size, running.heardAt)) {
      scheduler.setConnections(this.#count.count, this.#count.isProbing);
      this.#pausing.wakeAll();
    }
    // Another connection fetches the bytes past the end.
    const length = Math.min(bytes.length, assignment.end - position);
    const limit = onBytes(source, bytes.length, running.abort.signal);
    let wait = limit;
    if (length <= 0) scheduler.onSurplus(source.id, running.heardAt);
    else {
      const range = { start: position, end: position + length };
      const wanted = length < bytes.length ? bytes.subarray(0, length) : bytes;
      const room = writer.write(position, wanted);
      got.add(range);
      source.gave(range, running.defines);
      const before = scheduler.storedBytes;
      for (const late of scheduler.onBytes(assignment, range, now())) {
        this.#running.end(ENOUGH, (other) => other.assignment === late);
      }
      // Bytes that were stored already bring the download no further.
      if (scheduler.storedBytes > before) {
        source.broughtAt = running.heardAt;
        this.#patience.onBytes(running.heardAt);
      }
      if (room !== undefined) wait = room.then(() => limit);
    }
    const cut = assignment.end < assignment.range.end && !running.checked;
    if (cut && this.#isDone(running)) throw ENOUGH;
    return wait === undefined ? undefined : this.#heldBack(wait);
  }

  /** Waits, and tells the scheduler meanwhile that the client holds its sources back itself. */
  async #heldBack(wait: Promise<void>): Promise<void> {
    const { scheduler } = this.#options;
    const { now } = this.#session;
    const since = now();
    this.#running.hold(since);
    scheduler.throttle(true);
    await wait.finally(() => {
      this.#count.onHeld(now() - since);
      this.#running.release(now());
      scheduler.throttle(this.#running.isHeld);
    });
  }

  #isDone({ assignment, got }: RequestUnderWay<S>): boolean {
    return got.covers({ start: assignment.range.start, end: assignment.end });
  }

  async #onFailure(running: RequestUnderWay<S>, thrown: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { source, got } = running;
    const error = asMillraceError(thrown);
    if (endsDownload(error.row)) return this.#end(error);
    // A source that has brought something meanwhile, on any connection, is reachable (ANYCAST 3.1.1).
    const isThere = source.broughtAt >= running.startedAt;
    this.#options.pool.onFailure(source, error, isThere);
    this.#count.disturb(this.#session.now());
    if (source.health.quarantine !== undefined) {
      this.#session.onSourceFailed?.(source, error);
      this.#running.end(ENOUGH, (other) => other.source === source);
    }
    if (error.row.bytes === 'dropped' && !running.checked) await this.#distrust.discard(got);
  }

  /** Waits until something changes or it is time to look again, or ends a hopeless transfer. */
  async #pause(): Promise<void> {
    const { pool } = this.#options;
    const { now, wait, networkChange } = this.#session;
    let wakeAt = Math.min(now() + ASK_AGAIN_MS, pool.nextRestEnd() ?? Infinity);
    if (this.#exchanges === 0) {
      const at = pool.nextUsableAt();
      if (at === undefined || !this.#patience.waitsUntil(at, now())) {
        return this.#end(pool.failure() ?? new MillraceError('origin-unreachable'));
      }
      const missing = pool.restMissing(this.#options.scheduler);
      if (missing !== undefined) return this.#end(missing);
      this.#setWaiting(pool.allDown);
      wakeAt = Math.max(wakeAt, at);
    }
    await this.#pausing.during(async (woken) => {
      if (!this.#waiting || networkChange === undefined) return wait(wakeAt - now(), woken);
      if (await networkChange(wakeAt - now(), woken)) pool.retryNow();
    });
  }

  #setWaiting(waiting: boolean): void {
    if (this.#waiting !== waiting) this.#session.onWaiting?.(waiting);
    this.#waiting = waiting;
  }

  #end(reason: unknown): void {
    if (!this.#stop.signal.aborted) this.#stop.abort(reason);
    this.#running.end(reason, () => true);
    this.#pausing.wakeAll();
  }
}
