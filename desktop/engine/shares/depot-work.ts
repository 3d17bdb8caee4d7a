/** Asks the depots of stored files in the background, and keeps what comes of it: one thing at a time for each file. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import {
  afterFailedRevocation,
  type Change,
  NOT_REVOKED,
} from '@millrace/shared/share/share-state';
import type { KeptShare } from '../store/share-store.ts';
import { keptError, type ShareList } from './share-list.ts';
import type { Asked } from './stored-share.ts';

export interface DepotWorkOptions {
  readonly list: ShareList;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  /** Called when the work for a file has ended. */
  readonly onDone: (id: string) => void;
}

export class DepotWork {
  readonly #options: DepotWorkOptions;
  readonly #closing = new AbortController();
  /** Ends the work for a file, by its id. */
  readonly #stops = new Map<string, AbortController>();
  readonly #chores = new Set<Promise<void>>();

  constructor(options: DepotWorkOptions) {
    this.#options = options;
  }

  /** Aborted when the daemon ends. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Returns what the depots of a file are being asked for. */
  of(id: string): Change | undefined {
    return this.#options.list.progress(id).changing;
  }

  /**
   * Asks the depots of a stored file, and keeps the outcome. If the work is stopped, the file stays as
   * it is by then.
   *
   * @throws MillraceError `wrong-state` while they are being asked for something
   */
  ask(id: string, change: Change, ask: (signal: AbortSignal) => Promise<Asked>): void {
    if (this.of(id) !== undefined) {
      throw new MillraceError('wrong-state', { code: 'depots-are-asked' });
    }
    const stop = new AbortController();
    this.#stops.set(id, stop);
    const signal = AbortSignal.any([this.signal, stop.signal]);
    this.run(id, change, async () => {
      try {
        this.#keep(id, change, await outcome(ask, signal), signal);
      } finally {
        this.#stops.delete(id);
      }
    });
  }

  /** Does something with the depots of a file in the background. */
  run(id: string, changing: Change, work: () => Promise<void>): void {
    const { list, onDone } = this.#options;
    list.setProgress(id, { changing });
    const whole = async () => {
      try {
        await work();
      } finally {
        list.setProgress(id, { changing: undefined, repair: undefined });
        onDone(id);
      }
    };
    this.chore(whole());
  }

  /** Stops what the depots of a file are being asked for. */
  stop(id: string): void {
    this.#stops.get(id)?.abort(new MillraceError('interrupted'));
  }

  /** Lets work end before `close` does; its failure is nobody's. */
  chore(work: Promise<void>): void {
    const settled = work.catch(() => {});
    this.#chores.add(settled);
    void settled.then(() => this.#chores.delete(settled));
  }

  /** Stops all work. A revocation or a repair that this interrupts goes on at the next start. */
  abort(): void {
    this.#closing.abort(new MillraceError('interrupted'));
  }

  /** Waits until all work has ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#chores);
  }

  #keep(id: string, changing: Change, { exnode, change }: Outcome, signal: AbortSignal): void {
    const { list, now } = this.#options;
    const share = list.get(id);
    if (share === undefined) return;
    const hasFailed = change.trouble !== undefined;
    const next = hasFailed ? afterFailedRevocation(share, now()) : NOT_REVOKED;
    const rest = changing === 'revoking' && !signal.aborted ? next : {};
    const over = changing === 'repairing' && !signal.aborted ? { repairs: undefined } : {};
    const after = { ...share, ...(signal.aborted ? {} : change), ...rest, ...over };
    if (exnode === undefined) list.keep(after);
    else list.keepExnode(after, after.state === 'revoked' ? undefined : exnode);
  }
}

interface Outcome {
  readonly exnode?: Exnode | undefined;
  readonly change: Partial<KeptShare>;
}

async function outcome(
  ask: (signal: AbortSignal) => Promise<Asked>,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const { exnode, error, change } = await ask(signal);
    return { exnode, change: { ...change, trouble: error && keptError(error) } };
  } catch (error) {
    return { change: { trouble: keptError(asMillraceError(error)) } };
  }
}
