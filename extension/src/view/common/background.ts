/** Access of pages to the background: requests, and reports of changes. */

import type { BrowserApi } from '../../browser/api.ts';
import type { Answer, Failed, Request } from '../../contract/messages.ts';

export interface Background {
  /**
   * Sends a request.
   *
   * @returns the answer
   * @throws BackgroundError if it is refused, or not answered
   */
  ask<R extends Request>(request: R): Promise<Answer<R['type']>>;
  /**
   * Calls back when the background's answers may have changed.
   *
   * @returns a function that ends the calls
   */
  watch(listener: () => void): () => void;
}

export class BackgroundError extends Error {
  /** Whether the background has answered at all. */
  readonly answered: boolean;

  constructor(message: string, answered: boolean) {
    super(message);
    this.name = 'BackgroundError';
    this.answered = answered;
  }
}

/**
 * Pause before an ended background is woken up again, ms; it doubles each time that the background
 * sends nothing.
 */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

type Runtime = Pick<BrowserApi['runtime'], 'sendMessage' | 'connect'>;

export function backgroundOf(runtime: Runtime): Background {
  return {
    ask: async (request) => {
      const answer = await send(runtime, request);
      if (isFailed(answer)) throw new BackgroundError(answer.failed.message, true);
      // Links that no longer exist are `undefined`, which arrives as null.
      if (answer == null && request.type !== 'picked-links') throw new BackgroundError('', false);
      return (answer ?? undefined) as never;
    },
    watch: (listener) => watch(runtime, listener),
  };
}

async function send(runtime: Runtime, request: Request): Promise<unknown> {
  try {
    return await runtime.sendMessage(request);
  } catch {
    // There is no listener: the background is being updated, or could not be started.
    throw new BackgroundError('', false);
  }
}

function isFailed(answer: unknown): answer is Failed {
  return typeof answer === 'object' && answer !== null && 'failed' in answer && hasMessage(answer);
}

/** Returns whether `failed` has a message: in the answer to `add` it is a number. */
function hasMessage({ failed }: { failed?: unknown }): boolean {
  return typeof failed === 'object' && failed !== null && 'message' in failed;
}

function watch(runtime: Runtime, listener: () => void): () => void {
  let ended = false;
  let pause = FIRST_PAUSE_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let port: chrome.runtime.Port | undefined;
  const connect = () => {
    port = runtime.connect({ name: 'watch' });
    port.onMessage.addListener(() => {
      pause = FIRST_PAUSE_MS;
      listener();
    });
    port.onDisconnect.addListener(() => {
      if (ended) return;
      timer = setTimeout(reconnect, pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    });
  };
  const reconnect = () => {
    connect();
    // Something may have changed in between.
    listener();
  };
  connect();
  return () => {
    ended = true;
    clearTimeout(timer);
    port?.disconnect();
  };
}
