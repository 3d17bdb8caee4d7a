/** Ends the waits of downloads that could not reach their servers, once the network has changed. */

import { type ErrorCode, isErrorCode } from '@millrace/shared/base/errors';
import type { Records } from './records.ts';

/** Failures that a change of network may mend. */
const BY_NETWORK: ReadonlySet<ErrorCode> = new Set([
  'network-away',
  'origin-unreachable',
  'origin-unknown',
  'origin-timeout',
]);

export interface NetworkReturnOptions {
  readonly records: Records;
  /** Resolves to true when the network has changed, or to false when the signal aborts. */
  readonly networkChange: (signal: AbortSignal) => Promise<boolean>;
  /** Decides again which downloads run. */
  readonly tick: () => void;
}

export class NetworkReturn {
  readonly #options: NetworkReturnOptions;
  readonly #closing = new AbortController();
  #watching = false;

  constructor(options: NetworkReturnOptions) {
    this.#options = options;
  }

  /** Watches the network until no download waits for it. Call it when a download may wait. */
  look(): void {
    if (this.#watching || this.#closing.signal.aborted || this.#waiting().length === 0) return;
    this.#watching = true;
    void this.#watch().finally(() => {
      this.#watching = false;
    });
  }

  close(): void {
    this.#closing.abort();
  }

  async #watch(): Promise<void> {
    const { networkChange, records, tick } = this.#options;
    while (this.#waiting().length > 0) {
      if (!(await networkChange(this.#closing.signal))) return;
      for (const gid of this.#waiting()) {
        records.queue.endWait(gid);
        records.update(gid, { retryAt: undefined });
      }
      tick();
    }
  }

  #waiting(): string[] {
    const { records } = this.#options;
    return records.queue.line.flatMap(({ gid, state, retryAt }) => {
      if (state !== 'waiting' || retryAt === undefined) return [];
      const code = records.find(gid)?.error?.code;
      return isErrorCode(code) && BY_NETWORK.has(code) ? [gid] : [];
    });
  }
}
