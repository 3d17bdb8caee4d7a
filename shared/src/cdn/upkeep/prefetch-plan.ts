/**
 * Fetching a file ahead of its clients: which chunk is next, and how fast, so that clients hardly
 * notice. While transfers of clients run, all prefetches of a node together get what one of these
 * transfers gets on average, but at least `MIN_PREFETCH_RATE`; alone they run at full speed.
 */

import type { Millis } from '../../base/clock.ts';
import { chunkRange } from '../chunks/chunk-plan.ts';

/** Most requests for a chunk before the prefetch is given up. */
export const MAX_ATTEMPTS = 4;
const BACKOFF_MS = 500;

export interface PlannedChunk {
  readonly index: number;
  readonly bytes: number;
}

/** The chunks of one file that have still to come. */
export class PrefetchPlan {
  readonly fileBytes: number;
  readonly #chunkBytes: number;
  #next = 0;
  readonly #again: { readonly index: number; readonly at: Millis }[] = [];
  readonly #attempts = new Map<number, number>();
  #doneBytes = 0;
  #fetchedBytes = 0;

  constructor(fileBytes: number, chunkBytes: number) {
    this.fileBytes = fileBytes;
    this.#chunkBytes = chunkBytes;
  }

  get chunks(): number {
    return Math.ceil(this.fileBytes / this.#chunkBytes);
  }

  /** Bytes that are in the network's caches now. */
  get doneBytes(): number {
    return this.#doneBytes;
  }

  /** Bytes of these that were not in any cache before. */
  get fetchedBytes(): number {
    return this.#fetchedBytes;
  }

  get done(): boolean {
    return this.#doneBytes === this.fileBytes;
  }

  /** Takes the chunk to request now. @returns undefined while there is none */
  take(now: Millis): PlannedChunk | undefined {
    const again = this.takeAgain(now);
    if (again !== undefined || this.#next >= this.chunks) return again;
    return this.#planned(this.#next++);
  }

  /** Takes a chunk to request again now, after a failure. */
  takeAgain(now: Millis): PlannedChunk | undefined {
    const due = this.#again.findIndex(({ at }) => at <= now);
    if (due < 0) return undefined;
    const [again] = this.#again.splice(due, 1);
    return this.#planned((again as { index: number }).index);
  }

  /** When the next failed chunk is to be requested again. */
  get nextDeadline(): Millis | undefined {
    if (this.#again.length === 0) return undefined;
    return Math.min(...this.#again.map(({ at }) => at));
  }

  /** @param fetched false if some cache had it already */
  onChunk({ bytes }: PlannedChunk, fetched: boolean): void {
    this.#doneBytes += bytes;
    if (fetched) this.#fetchedBytes += bytes;
  }

  /** @returns false if the chunk has no attempts left */
  onFailed({ index }: PlannedChunk, now: Millis): boolean {
    const attempts = (this.#attempts.get(index) ?? 0) + 1;
    this.#attempts.set(index, attempts);
    if (attempts >= MAX_ATTEMPTS) return false;
    this.#again.push({ index, at: now + BACKOFF_MS * 2 ** (attempts - 1) });
    return true;
  }

  #planned(index: number): PlannedChunk {
    const { start, end } = chunkRange(index, this.#chunkBytes, this.fileBytes);
    return { index, bytes: end - start };
  }
}

/** Least bytes per second of all prefetches together, whatever clients do. */
export const MIN_PREFETCH_RATE = 256 * 1024;
/** Most credit that can be saved up, in milliseconds of its growth: bursts stay short. */
const MAX_SAVED_MS = 1000;

/** Pace of all prefetches of a node together. */
export class PrefetchPace {
  #credit = 0;
  #at: Millis | undefined;
  #clientBytes = 0;

  /**
   * Records the progress of clients, by which the credit grows.
   *
   * @param transfers of clients under way
   * @param clientBytes sent to clients since the start of the node
   */
  onClients(transfers: number, clientBytes: number, now: Millis): void {
    const before = this.#at;
    const sent = Math.max(0, clientBytes - this.#clientBytes);
    this.#at = now;
    this.#clientBytes = clientBytes;
    if (before === undefined || now <= before) return;
    const elapsed = now - before;
    const perMs = transfers === 0 ? 0 : sent / transfers / elapsed;
    const rate = Math.max(perMs, MIN_PREFETCH_RATE / 1000);
    this.#credit = Math.min(this.#credit + rate * elapsed, rate * MAX_SAVED_MS);
  }

  /** Returns true if a chunk may be requested now. @param transfers of clients under way */
  mayStart(transfers: number): boolean {
    return transfers === 0 || this.#credit >= 0;
  }

  /** A chunk has been requested; debt is paid off before the next one. */
  onStart(bytes: number, transfers: number): void {
    if (transfers > 0) this.#credit -= bytes;
    else this.#credit = Math.min(this.#credit, 0);
  }
}
