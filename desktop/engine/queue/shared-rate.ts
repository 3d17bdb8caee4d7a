/**
 * One rate limit for all downloads of the daemon: carries out the waits that `FairShare` orders.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { FairShare } from '@millrace/shared/download/queue/fair-share';
import type { RateLimit } from './contract.ts';

/**
 * Longest single wait, in milliseconds, so that nobody waits long under a limit that has changed.
 */
const MAX_WAIT_MS = 60_000;

export class SharedRate {
  readonly #now: () => Millis;
  readonly #share: FairShare<string>;
  readonly #waiting = new Map<number, () => void>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now a clock that only goes forward */
  constructor(now: () => Millis) {
    this.#now = now;
    this.#share = new FairShare(undefined, now());
  }

  /** Bytes per second over all downloads; undefined for no limit. */
  get rate(): number | undefined {
    return this.#share.rate;
  }

  set rate(bytesPerSecond: number | undefined) {
    this.#share.setRate(bytesPerSecond, this.#now());
    this.#grant();
  }

  /** Returns the limit of one download, whose connections share its part of the rate. */
  limitFor(gid: string): RateLimit {
    return {
      take: (bytes, signal) => {
        const ticket = this.#share.ask(gid, bytes, this.#now());
        if (ticket === undefined) return undefined;
        const paid = this.#wait(gid, ticket, signal);
        if (this.#timer === undefined) this.#grant();
        return paid;
      },
    };
  }

  /** Forgets a download that has ended. */
  leave(gid: string): void {
    this.#share.leave(gid);
  }

  #wait(gid: string, ticket: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(ticket);
        this.#share.cancel(gid, ticket);
        reject(signal.reason);
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(ticket, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }

  #grant(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = this.#now();
    const { granted, nextAt } = this.#share.grant(now);
    for (const ticket of granted) {
      this.#waiting.get(ticket)?.();
      this.#waiting.delete(ticket);
    }
    if (nextAt === undefined) return;
    this.#timer = setTimeout(() => this.#grant(), Math.min(MAX_WAIT_MS, nextAt - now));
  }
}
