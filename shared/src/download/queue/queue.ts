/**
 * The queue: decides which downloads run now, which come next, and when others are retried. It
 * holds unfinished downloads; complete, failed and removed downloads leave it.
 */

import type { Millis, Random } from '../../base/clock.ts';
import { clamp, MAX_PRIORITY, MIN_PRIORITY, QueueLine } from './queue-line.ts';

/** queued: waits for its turn; waiting: waits for a retry; paused: waits until it is resumed. */
export type QueueState = 'queued' | 'active' | 'waiting' | 'paused';

/** The reason why a download that could run does not run. */
type Held = 'turn' | 'host' | 'schedule' | 'retry' | 'start';

export interface QueueItem {
  readonly gid: string;
  /** Host and port that it is fetched from, for limits per host. */
  readonly host: string;
  readonly state: QueueState;
  /** Higher first, MIN_PRIORITY to MAX_PRIORITY. */
  readonly priority: number;
  /** Order within a priority, lower first. */
  readonly rank: number;
  /** Failures in a row. */
  readonly attempts: number;
  /** When it is retried, while it waits. */
  readonly retryAt: Millis | undefined;
  /** Earliest start that the user has set. */
  readonly startAt: Millis | undefined;
  readonly held: Held | undefined;
  /** True if its last attempt failed: others of its priority that have not failed start first. */
  readonly behind: boolean;
}

export interface QueueLimits {
  /** Downloads at a time, 0 or more. */
  readonly concurrent: number;
  /** Downloads at a time from one host. */
  readonly perHost?: number | undefined;
  /** True while nothing may run (a window of the schedule). */
  readonly closed: boolean;
}

export interface Plan {
  /** Downloads that begin now, in order; they count as active from here on. */
  readonly start: readonly string[];
  /** When to plan again if no event comes before. */
  readonly nextAt: Millis | undefined;
}

export type Move = 'set' | 'current' | 'end';

/** Most unfinished downloads at a time. */
export const MAX_QUEUE = 20_000;

const FIRST_RETRY_MS = 5000;
const MAX_RETRY_MS = 10 * 60_000;
/** Longest wait that a server may ask for (Retry-After). */
const MAX_WAIT_MS = 24 * 3600_000;

type Mutable = { -readonly [K in keyof QueueItem]: QueueItem[K] };

export class DownloadQueue {
  readonly #items = new Map<string, Mutable>();
  /** All but the active ones, in order. */
  readonly #line = new QueueLine<Mutable>();
  readonly #active = new Map<string, Mutable>();

  get size(): number {
    return this.#items.size;
  }

  /** Running downloads, in the order in which they began. */
  get active(): readonly QueueItem[] {
    return [...this.#active.values()];
  }

  /** Downloads that do not run (queued, waiting, paused), in order. */
  get line(): readonly QueueItem[] {
    return this.#line.items;
  }

  get(gid: string): QueueItem | undefined {
    return this.#items.get(gid);
  }

  /** Returns the place among downloads that do not run, from 0; undefined for others. */
  position(gid: string): number | undefined {
    const item = this.#items.get(gid);
    const at = item === undefined ? -1 : this.#line.placeOf(item);
    return at < 0 ? undefined : at;
  }

  /**
   * Adds a download, as the last of its priority or at a position.
   *
   * @param item the download; `rank` as it was before a restart, undefined for a new one
   * @param position from 0; the download takes on a priority that fits there, as with `move`
   * @returns the gids whose priority or rank is new
   */
  add(
    item: {
      readonly gid: string;
      readonly host: string;
      readonly state: Exclude<QueueState, 'active'>;
      readonly priority: number;
      readonly rank?: number | undefined;
      readonly attempts?: number;
      readonly retryAt?: Millis | undefined;
      readonly startAt?: Millis | undefined;
    },
    position?: number,
  ): string[] {
    if (this.#items.has(item.gid)) throw new Error(`${item.gid} is in the queue already`);
    const priority = clamp(item.priority, MIN_PRIORITY, MAX_PRIORITY);
    if (item.rank !== undefined) this.#line.noteRank(priority, item.rank);
    const own: Mutable = {
      gid: item.gid,
      host: item.host,
      state: item.state,
      priority,
      rank: item.rank ?? this.#line.nextRank(priority),
      attempts: item.attempts ?? 0,
      retryAt: item.retryAt,
      startAt: item.startAt,
      held: undefined,
      behind: item.state === 'waiting' && (item.attempts ?? 0) > 0,
    };
    this.#items.set(own.gid, own);
    this.#line.insert(own);
    return position === undefined ? [own.gid] : this.move(own.gid, position, 'set').changed;
  }

  /** Takes out a download that is finished or removed. */
  remove(gid: string): void {
    const item = this.#items.get(gid);
    if (item === undefined) return;
    this.#items.delete(gid);
    this.#active.delete(gid);
    this.#line.takeOut(item);
  }

  /**
   * Moves a download that does not run. At a place among downloads of another priority it takes on
   * theirs, so that the line stays ordered by priority.
   *
   * @param how set: counted from the beginning; current: from where it is; end: from the end
   * @returns the new place, and the gids whose priority or rank has changed; place -1 if the
   *   download is not in the line
   */
  move(gid: string, offset: number, how: Move): { position: number; changed: string[] } {
    const item = this.#items.get(gid);
    const from = this.position(gid);
    if (item === undefined || from === undefined) return { position: -1, changed: [] };
    const last = this.#line.items.length - 1;
    const wanted = how === 'set' ? offset : how === 'current' ? from + offset : last + offset;
    const position = clamp(wanted, 0, last);
    if (position === from) return { position, changed: [gid] };
    return { position, changed: this.#line.move(item, position).map((one) => one.gid) };
  }

  /** Notes that a download is now fetched from another host. */
  setHost(gid: string, host: string): void {
    const item = this.#items.get(gid);
    if (item !== undefined) item.host = host;
  }

  /** Changes a priority; in the line the download becomes the last of its new priority. */
  setPriority(gid: string, priority: number): void {
    const item = this.#items.get(gid);
    if (item === undefined) return;
    const wanted = clamp(priority, MIN_PRIORITY, MAX_PRIORITY);
    if (wanted === item.priority) return;
    const inLine = this.#line.takeOut(item);
    item.priority = wanted;
    item.rank = this.#line.nextRank(wanted);
    if (inLine) this.#line.insert(item);
  }

  /** @param at earliest start; undefined: when its turn comes */
  setStart(gid: string, at: Millis | undefined): void {
    const item = this.#items.get(gid);
    if (item !== undefined) item.startAt = at;
  }

  /** @returns false if it is paused already, or not in the queue */
  pause(gid: string): boolean {
    const item = this.#items.get(gid);
    if (item === undefined || item.state === 'paused') return false;
    this.#stand(item, 'paused');
    return true;
  }

  /** @returns false if it is not paused */
  resume(gid: string): boolean {
    const item = this.#items.get(gid);
    if (item?.state !== 'paused') return false;
    this.#stand(item, 'queued');
    item.attempts = 0;
    item.behind = false;
    return true;
  }

  /** Puts an active download that was stopped from outside back at its place in the line. */
  requeue(gid: string): void {
    const item = this.#items.get(gid);
    if (item?.state === 'active') this.#stand(item, 'queued');
  }

  /** Makes an active download wait without counting that as a failure. */
  postpone(gid: string, until: Millis): void {
    const item = this.#items.get(gid);
    if (item?.state !== 'active') return;
    this.#stand(item, 'waiting');
    item.retryAt = until;
  }

  /** Makes a waiting download due at once, and no longer behind others. */
  hurry(gid: string): void {
    const item = this.#items.get(gid);
    if (item?.state !== 'waiting') return;
    this.#stand(item, 'queued');
    item.behind = false;
  }

  /** Ends the wait for another attempt, because circumstances have changed; `behind` stays. */
  endWait(gid: string): void {
    const item = this.#items.get(gid);
    if (item?.state === 'waiting') item.retryAt = undefined;
  }

  /** Notes that bytes came in: earlier failures no longer count. */
  onProgress(gid: string): void {
    const item = this.#items.get(gid);
    if (item !== undefined) item.attempts = 0;
  }

  /**
   * Plans another attempt after a failure that may pass, later each time. Until then the download
   * holds no slot, and then downloads that have not failed start first. Otherwise two downloads
   * that bring a few bytes each time would take turns, and nothing behind them would ever start.
   */
  retry(gid: string, random: Random, now: Millis, retryAfterMs = 0): void {
    const item = this.#items.get(gid);
    if (item?.state !== 'active') return;
    item.attempts++;
    item.behind = true;
    this.#stand(item, 'waiting');
    const asked = Math.min(MAX_WAIT_MS, retryAfterMs);
    item.retryAt = now + Math.max(asked, retryDelayMs(item.attempts, random));
  }

  /**
   * Chooses the downloads that begin now: the first ones in the line that may start, up to the
   * limits.
   */
  plan(limits: QueueLimits, now: Millis): Plan {
    const perHost = new Map<string, number>();
    for (const { host } of this.#active.values()) perHost.set(host, (perHost.get(host) ?? 0) + 1);
    const begin: Mutable[] = [];
    let nextAt: Millis | undefined;
    let free = limits.concurrent - this.#active.size;
    for (const item of this.#inOrderOfStart()) {
      item.held = undefined;
      if (item.state === 'paused') continue;
      const retryAt = item.retryAt ?? now;
      // A wait longer than allowed was noted while the clock was wrong.
      if (item.state === 'waiting' && retryAt > now && retryAt <= now + MAX_WAIT_MS) {
        item.held = 'retry';
        nextAt = Math.min(nextAt ?? Number.POSITIVE_INFINITY, retryAt);
        continue;
      }
      if (item.startAt !== undefined && item.startAt > now) {
        item.held = 'start';
        nextAt = Math.min(nextAt ?? Number.POSITIVE_INFINITY, item.startAt);
        continue;
      }
      const onHost = perHost.get(item.host) ?? 0;
      if (limits.closed) item.held = 'schedule';
      else if (free <= 0) item.held = 'turn';
      else if (limits.perHost !== undefined && onHost >= limits.perHost) item.held = 'host';
      else {
        begin.push(item);
        perHost.set(item.host, onHost + 1);
        free--;
      }
    }
    for (const item of begin) {
      this.#line.takeOut(item);
      item.state = 'active';
      item.retryAt = undefined;
      this.#active.set(item.gid, item);
    }
    return { start: begin.map((item) => item.gid), nextAt };
  }

  /** Lists the line, with `behind` downloads last in their priority, longest due first. */
  *#inOrderOfStart(): Iterable<Mutable> {
    const behind: Mutable[] = [];
    let priority: number | undefined;
    for (const item of this.#line.items) {
      if (item.priority !== priority) yield* behind.splice(0).sort(byRetry);
      priority = item.priority;
      if (item.behind) behind.push(item);
      else yield item;
    }
    yield* behind.sort(byRetry);
  }

  #stand(item: Mutable, state: Exclude<QueueState, 'active'>): void {
    const wasActive = this.#active.delete(item.gid);
    item.state = state;
    item.retryAt = undefined;
    item.held = undefined;
    if (wasActive) this.#line.insert(item);
  }
}

/**
 * Computes the wait before another attempt: doubled each time, with jitter so that downloads that
 * failed together do not come back together.
 *
 * @param attempts failures in a row, 1 or more
 * @returns milliseconds
 */
export function retryDelayMs(attempts: number, random: Random): Millis {
  const delay = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(20, attempts - 1));
  return Math.round(delay * (0.5 + random()));
}

function byRetry(a: QueueItem, b: QueueItem): number {
  return (a.retryAt ?? 0) - (b.retryAt ?? 0);
}
