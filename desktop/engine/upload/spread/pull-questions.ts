/**
 * Asks depots whether they may pull from others, while the copy that they would pull is on its way: one
 * question for each pair of depots and upload. Without an answer, the pull itself tells.
 */

import { isErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { PullProspect } from '@millrace/shared/cdn/depot/pull-prospect';
import type { Placed, Placement } from '@millrace/shared/exnode/spread/placement';
import { mayPull } from '../depot-client.ts';

export interface PullQuestionsOptions {
  readonly depots: readonly { readonly edge: string; readonly token: string }[];
  readonly placement: Placement;
  readonly signal: AbortSignal;
  /** Called when a depot turns out to be unable to pull from another one. */
  readonly onClosed: () => void;
}

export class PullQuestions {
  readonly #options: PullQuestionsOptions;
  readonly #over = new AbortController();
  /** Why depots cannot pull from others, as far as nobody has been told. */
  readonly #reasons = new Map<number, MillraceError>();

  constructor(options: PullQuestionsOptions) {
    this.#options = options;
  }

  /** Asks the depots that wait for a copy whose space is reserved. @param link to read the copy */
  ask(task: Placed, link: string): void {
    const { depots, placement, signal, onClosed } = this.#options;
    const both = AbortSignal.any([signal, this.#over.signal]);
    for (const depot of placement.questions(task)) {
      const { edge = '', token = '' } = depots[depot] ?? {};
      mayPull(edge, token, link, both).then(
        (prospect) => {
          const reason = reasonOf(prospect);
          if (reason === undefined) return;
          this.#reasons.set(depot, reason);
          placement.onClosed(depot, task.depot);
          onClosed();
        },
        // A depot of an earlier version, or one that is away.
        () => {},
      );
    }
  }

  /** Returns why a further copy is sent to a depot, once; undefined: it is known already, or no reason. */
  takeReason(task: Placed): MillraceError | undefined {
    const reason = this.#options.placement.isFurther(task)
      ? this.#reasons.get(task.depot)
      : undefined;
    if (reason !== undefined) this.#reasons.delete(task.depot);
    return reason;
  }

  /** Ends the questions that are under way. */
  end(): void {
    this.#over.abort();
  }
}

function reasonOf(prospect: PullProspect): MillraceError | undefined {
  if (prospect.state !== 'refused' && prospect.state !== 'unreachable') return undefined;
  const { code, message } = prospect;
  // The title of the error begins the message, and comes with its code again.
  const detail = message.replace(/^[^:]*: /, '');
  return new MillraceError(isErrorCode(code) ? code : 'origin-error', detail);
}
