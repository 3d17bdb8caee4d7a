/**
 * Announcements of changed files to other nodes: few at a time, since each goes to all nodes. Those
 * who have changed a file wait until the others know, but not long for nodes that do not answer.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { FairTurns } from '@millrace/shared/cdn/admission/fair-turns';
import { sleep } from '@millrace/shared/node/sleep';

/** Announcements at a time; an operator may change a thousand files at once. */
const AT_ONCE = 16;
/** Longest wait. One node that is down takes seconds for every `AT_ONCE` announcements. */
const MAX_WAIT_MS: Millis = 10_000;
const FOR_EVER = new AbortController().signal;

export class Announcements {
  readonly #turns = new FairTurns(AT_ONCE);
  readonly #announce: (id: string) => Promise<void>;
  readonly #maxWaitMs: Millis;

  /**
   * @param announce tells other nodes of a file that has changed; never rejects
   * @param maxWaitMs longest wait; for tests
   */
  constructor(announce: (id: string) => Promise<void>, maxWaitMs = MAX_WAIT_MS) {
    this.#announce = announce;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Announces a change. Resolves when all nodes know, or after the longest wait. */
  async announce(id: string): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([this.#inTurn(id), sleep(this.#maxWaitMs, waiting.signal)]);
    waiting.abort();
  }

  async #inTurn(id: string): Promise<void> {
    const end = await this.#turns.take('', '', FOR_EVER);
    await this.#announce(id).finally(end);
  }
}
