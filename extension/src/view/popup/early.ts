/** Answers that were asked for before the popup's script was there. */

import type { BrowserApi } from '../../browser/api.ts';

export interface Early {
  /** Of the page that the popup was opened on. */
  readonly url: Promise<string | undefined>;
  /** By type of request; each is for the first that asks. */
  readonly answers: Partial<Record<string, Promise<unknown>>>;
}

type Runtime = Pick<BrowserApi['runtime'], 'sendMessage' | 'connect'>;

/** The browser's way to the background, with answers that are on their way already. */
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
