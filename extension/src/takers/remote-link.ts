/**
 * Calls of a daemon on another machine, by https, with the token that it gave when it was paired.
 * Each call is one request (`POST /jsonrpc`), so nothing has to stay open.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import type { MethodName, ParamsOf } from '@millrace/shared/bridge/contract/contract';
import { PAIR_PATH, type Paired, type PairRequest } from '@millrace/shared/bridge/page/remote-api';
import { isObject, parseFromServer } from '@millrace/shared/bridge/rpc/json-rpc';
import type { PairProblem, RemoteProblem } from '../contract/remote.ts';
import { TakerError, takerError } from '../contract/taker.ts';

/** A daemon that has been paired. */
export interface Pairing {
  /** Origin of the daemon's page: `https://`, a host, and a port unless it is 443. */
  readonly url: string;
  readonly token: string;
}

/** Sends a request, as `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RemoteLinkOptions {
  readonly fetch: Fetch;
  /** Returns the paired daemon; undefined if there is none. */
  readonly pairing: () => Promise<Pairing | undefined>;
}

/** Longest wait for an answer, ms. Proofs of offers take the daemon ten seconds at most. */
const ANSWER_MS = 15_000;
/** Longest answer, characters: a list of 500 downloads has about 300,000. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024;

/**
 * Options of every request. Redirects would lead the token elsewhere, and cookies of the
 * daemon's page are not the extension's business.
 */
const QUIET = {
  method: 'POST',
  redirect: 'error',
  credentials: 'omit',
  cache: 'no-store',
  referrerPolicy: 'no-referrer',
} as const;

export class RemoteLink {
  readonly #options: RemoteLinkOptions;
  #problem: RemoteProblem | undefined;

  constructor(options: RemoteLinkOptions) {
    this.#options = options;
  }

  /** Reason why the last call did not reach the daemon; undefined if it did, or none was made. */
  get problem(): RemoteProblem | undefined {
    return this.#problem;
  }

  /** Forgets the last problem, which was that of another daemon. */
  reset(): void {
    this.#problem = undefined;
  }

  /**
   * Calls a method of the daemon.
   *
   * @param sure true if a call without an answer counts as one that was not made
   * @returns the result, which is not checked
   * @throws TakerError; `absent` if the daemon has not carried out the call; `lost` if it may have
   */
  async call<M extends MethodName>(
    method: M,
    params: ParamsOf<M>,
    { signal, sure = false }: { readonly signal?: AbortSignal; readonly sure?: boolean } = {},
  ): Promise<unknown> {
    const pairing = await this.#options.pairing();
    if (pairing === undefined) throw new TakerError('absent', 'No daemon is paired');
    const silent = sure ? 'absent' : 'lost';
    let answer: Awaited<ReturnType<typeof send>>;
    try {
      answer = await send(this.#options.fetch, `${pairing.url}/jsonrpc`, {
        ...QUIET,
        headers: {
          authorization: `Bearer ${pairing.token}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [params] }),
        signal: withTimeout(signal),
      });
    } catch {
      if (signal?.aborted) throw new TakerError('failed', 'The call was given up');
      // The reason of the browser names no more than that the network failed.
      this.#problem = 'unreachable';
      throw new TakerError(silent, 'The daemon on the other machine does not answer');
    }
    return this.#read(answer, silent);
  }

  #read({ status, body }: { status: number; body: unknown }, silent: 'absent' | 'lost'): unknown {
    const message = parseFromServer(body);
    if (message === undefined || 'method' in message) {
      // The daemon refuses foreign names with 403; a reverse proxy without its daemon says 502.
      this.#problem = status === 403 ? 'refused' : 'no-daemon';
      const problem = status === 403 || status === 404 ? 'absent' : silent;
      throw new TakerError(problem, `The other machine answers with status ${status}`);
    }
    if ('result' in message) {
      this.#problem = undefined;
      return message.result;
    }
    const { message: said, data } = message.error;
    const code = isObject(data) && typeof data.code === 'string' ? data.code : undefined;
    if (code === undefined && said === 'Unauthorized') {
      this.#problem = 'revoked';
      throw new TakerError('absent', 'The daemon on the other machine does not know this browser');
    }
    this.#problem = undefined;
    throw takerError(code ?? 'bad-option', said);
  }
}

/**
 * Pairs this browser with a daemon.
 *
 * @param url origin of the daemon's page
 * @returns the token, or the reason why there is none
 */
export async function pair(
  fetch: Fetch,
  url: string,
  request: PairRequest,
): Promise<Paired | { readonly problem: PairProblem }> {
  let answer: Awaited<ReturnType<typeof send>>;
  try {
    answer = await send(fetch, url + PAIR_PATH, {
      ...QUIET,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: withTimeout(undefined),
    });
  } catch {
    return { problem: 'unreachable' };
  }
  const { status, body } = answer;
  if (status !== 200) return { problem: PAIR_PROBLEMS[status] ?? 'no-daemon' };
  const token = isObject(body) ? body.token : undefined;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,256}$/.test(token)) {
    return { problem: 'no-daemon' };
  }
  return { token };
}

/** Statuses with which `/pair` refuses a code. */
const PAIR_PROBLEMS: Readonly<Record<number, PairProblem>> = {
  400: 'wrong-code',
  401: 'wrong-code',
  403: 'refused',
  409: 'full',
  429: 'wait',
};

function withTimeout(signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(ANSWER_MS);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

/** Sends a request. @returns status and JSON; the body is undefined if it is not JSON */
async function send(
  fetch: Fetch,
  url: string,
  init: RequestInit,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(url, init);
  const text = await shortText(response);
  try {
    return { status: response.status, body: JSON.parse(text) };
  } catch {
    return { status: response.status, body: undefined };
  }
}

/** Reads a body as far as it is bearably long. */
async function shortText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return text;
    text += decoder.decode(value, { stream: true });
    if (text.length <= MAX_ANSWER_CHARS) continue;
    await reader?.cancel();
    throw new MillraceError('malformed-response', 'the answer is too long');
  }
}
