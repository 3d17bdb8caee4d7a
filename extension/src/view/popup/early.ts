/** Answers that were requested before the popup's script was loaded. */

import type { BrowserApi } from '../../browser/api.ts';

export interface Early {
  /** URL of the page that the popup was opened on. */
  readonly url: Promise<string | undefined>;
  /** Answers by type of request; each is for the first request of its type. */
  readonly answers: Partial<Record<string, Promise<unknown>>>;
}

type Runtime = Pick<BrowserApi['runtime'], 'sendMessage' | 'connect'>;

/** Returns the browser's API for messages, with answers that are already under way. */
export function withEarly(runtime: Runtime, { answers }: Early): Runtime {
  const left = new Map(Object.entries(answers));
  const sendMessage = (message: { readonly type: string }) => {
    const answer = left.get(message.type);
    left.delete(message.type);
    return answer ?? runtime.sendMessage(message);
  };
  return {
    sendMessage: sendMessage as Runtime['sendMessage'],
    connect: runtime.connect.bind(runtime),
  };
}
