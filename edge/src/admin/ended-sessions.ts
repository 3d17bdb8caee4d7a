/** Sessions that were logged out, kept beside the cache so that no restart brings them back. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { Revocations, type RevocationsSnapshot } from '@millrace/shared/cdn/admission/revocations';
import { REVOCATIONS } from '../cache/commands.ts';
import { KeptFile } from '../cache/kept-file.ts';
import { LIFETIME_MS } from './sessions.ts';

export class EndedSessions {
  readonly revocations = new Revocations();
  readonly #file: KeptFile<typeof REVOCATIONS> | undefined;
  readonly #now: () => Millis;

  private constructor(file: KeptFile<typeof REVOCATIONS> | undefined, now: () => Millis) {
    this.#file = file;
    this.#now = now;
  }

  /**
   * Reads the sessions that earlier runs have ended.
   *
   * @param dir of the cache; without one, ended sessions are forgotten with the process
   * @param now Unix milliseconds
   */
  static async open(dir: string | undefined, log: Log, now: () => Millis): Promise<EndedSessions> {
    const file =
      dir === undefined
        ? undefined
        : new KeptFile({ dir, name: 'sessions.json', schema: REVOCATIONS, log });
    const ended = new EndedSessions(file, now);
    const left = await file?.read();
    if (left !== undefined) ended.#revoke(left);
    return ended;
  }

  /** Ends sessions in this process; resolves when a restart cannot bring them back. */
  async revoke(ending: RevocationsSnapshot): Promise<void> {
    this.#revoke(ending);
    await this.#file?.write(() => {
      const { until, sessions } = this.revocations.snapshot;
      return { until, sessions: sessions.map(([id, ends]) => [id, ends]) };
    });
  }

  /** Caps `until` at the end of a session that begins now: no session ends later. */
  #revoke({ until, sessions }: RevocationsSnapshot): void {
    const now = this.#now();
    this.revocations.revoke({ until: Math.min(until, now + LIFETIME_MS), sessions }, now);
  }

  /** Resolves when nothing is being written. */
  async close(): Promise<void> {
    await this.#file?.close();
  }
}
