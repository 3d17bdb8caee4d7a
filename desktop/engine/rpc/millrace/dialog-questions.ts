/** Gives up what dialogs of clients have asked by themselves, once they ask something else or are gone. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { Subscriber } from '../calls/dispatcher.ts';

export class DialogQuestions {
  /** Questions under way of each client, by the dialog's name. */
  readonly #asked = new WeakMap<Subscriber, Map<string, AbortController>>();

  /**
   * Asks a question in place of the dialog's earlier one.
   *
   * @param client undefined for a call over HTTP, whose questions come to their end
   * @param ask gets a signal that aborts when the dialog asks again, or its client is gone
   * @throws MillraceError `interrupted` once the question was given up; what `ask` throws
   */
  async ask<T>(
    client: Subscriber | undefined,
    dialog: string,
    ask: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    if (client === undefined) return ask(undefined);
    const asked = this.#asked.get(client) ?? this.#first(client);
    const mine = new AbortController();
    const earlier = asked.get(dialog);
    asked.set(dialog, mine);
    earlier?.abort(new MillraceError('interrupted'));
    try {
      return await ask(mine.signal);
    } finally {
      if (asked.get(dialog) === mine) asked.delete(dialog);
    }
  }

  #first(client: Subscriber): Map<string, AbortController> {
    const asked = new Map<string, AbortController>();
    this.#asked.set(client, asked);
    client.onClosed(() => {
      for (const one of asked.values()) one.abort(new MillraceError('interrupted'));
    });
    return asked;
  }
}
