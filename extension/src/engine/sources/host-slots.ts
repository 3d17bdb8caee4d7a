/**
 * Shares out connections among all downloads of the engine. A new download gets its share at once:
 * others end requests for it, keep the bytes of these, and continue with fewer connections.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { ConnectionSlots } from '@millrace/shared/download/queue/connection-slots';

/**
 * Most connections to one host at a time, over all downloads. Browsers have six per host; one is
 * left to the browser's own download, which is still open while it is handed over.
 */
export const MAX_PER_HOST = 5;
/** Most connections at a time, to all hosts. Behind a proxy Chromium has 32 for everything. */
export const MAX_CONNECTIONS = 24;

/** A holder of connections: a download, or the proof of one. */
export interface SlotHolder {
  /** Ends `count` connections to a host now, including those that are already ending. */
  giveBack(host: string, count: number): void;
  /** Called when there is room for one more connection. */
  onRoom(): void;
}

export class HostSlots {
  readonly #slots = new ConnectionSlots<SlotHolder>({
    perHost: MAX_PER_HOST,
    total: MAX_CONNECTIONS,
  });
  readonly #now: () => Millis;
  #settling = false;

  /** @param now monotonic milliseconds */
  constructor(now: () => Millis) {
    this.#now = now;
  }

  /**
   * Claims connections for a holder.
   *
   * @param wanted connections that it could use at a time, including those it has
   */
  claim(holder: SlotHolder, host: string, wanted: number): void {
    if (this.#slots.claim(holder, host, wanted, this.#now())) this.#settleSoon();
  }

  /** Whether other holders have all the connections that this one could use. */
  isCrowdedOut(holder: SlotHolder, host: string): boolean {
    return this.#slots.isCrowdedOut(holder, host);
  }

  room(holder: SlotHolder, host: string): number {
    return this.#slots.room(holder, host);
  }

  /** Takes a connection. @returns false if there is no room */
  take(holder: SlotHolder, host: string): boolean {
    return this.#slots.take(holder, host);
  }

  release(holder: SlotHolder, host: string): void {
    this.#slots.release(holder, host, this.#now());
    this.#settleSoon();
  }

  /** Removes a holder that has ended, and releases its connections. */
  leave(holder: SlotHolder): void {
    this.#slots.leave(holder, this.#now());
    this.#settleSoon();
  }

  /**
   * Lets downloads take turns if there are more of them than connections; to be called about every
   * second.
   */
  tick(): void {
    if (this.#slots.takesTurns) this.#settleSoon();
  }

  /**
   * Does work that takes one connection, as soon as there is one.
   *
   * @throws the signal's reason; the error of the work
   */
  async use<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const holder = await this.#one(host, signal);
    try {
      return await work();
    } finally {
      this.leave(holder);
    }
  }

  /** Waits for one connection. @returns its owner */
  #one(host: string, signal: AbortSignal): Promise<SlotHolder> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.leave(holder);
        reject(signal.reason);
      };
      const holder: SlotHolder = {
        // This holder needs its connection only briefly: let it finish.
        giveBack: () => {},
        onRoom: () => {
          if (!this.take(holder, host)) return;
          signal.removeEventListener('abort', onAbort);
          resolve(holder);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.claim(holder, host, 1);
      holder.onRoom();
    });
  }

  #settleSoon(): void {
    if (this.#settling) return;
    this.#settling = true;
    queueMicrotask(() => {
      this.#settling = false;
      for (const { key, host, count } of this.#slots.excess(this.#now())) key.giveBack(host, count);
      for (const holder of this.#slots.withRoom) holder.onRoom();
    });
  }
}
