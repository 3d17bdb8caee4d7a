/** One exchange with a depot: a request, with content if need be, and a small answer. No retry. */

import type {
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  RequestOptions,
} from 'node:http';
import type { LookupFunction } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { MAX_INTERIM_ANSWERS } from '@millrace/shared/base/limits';
import { MAX_PROBLEM_BYTES, readProblem } from '@millrace/shared/http/answers/problem';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import { UPLOAD_RESUMPTION } from '@millrace/shared/http/fields/upload-fields';
import { tooManyInterim } from '@millrace/shared/node/head-buffer';
import { networkError } from '@millrace/shared/node/network-error';
import { lookupFor } from './listed-hosts.ts';

/** Longest time for which a connection may be silent. A depot also hashes what it has stored. */
const SILENCE_MS: Millis = 120_000;
/** Longest time from the last byte sent to the answer: a depot may say for long that it still works. */
const ANSWER_MS: Millis = 3_600_000;

/** Bytes to send, piece by piece. */
export interface Content {
  readonly bytes: number;
  readonly pieces: AsyncIterable<Buffer>;
}

export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly content?: Content;
  readonly onInterim?: (headers: IncomingHttpHeaders) => void;
  /** Longest answer; the usual one is short. */
  readonly maxBytes?: number;
  /** Look-up of the host; default: that of listed edges, or the system's. */
  readonly lookup?: LookupFunction;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Makes the content of a text. */
export function contentOf(text: string): Content {
  const buffer = Buffer.from(text);
  const pieces = (async function* () {
    yield buffer;
  })();
  return { bytes: buffer.length, pieces };
}

/**
 * Sends a request, and waits for the answer, which is small.
 *
 * @throws MillraceError the depot's own; those of the network; `malformed-response`; the signal's reason
 */
export async function exchange(o: Exchange): Promise<Answer> {
  const { signal, url: target, content } = o;
  signal.throwIfAborted();
  // An import would also load the fetch and WebSocket of Node's http.
  const { request } = target.startsWith('https:')
    ? process.getBuiltinModule('node:https')
    : process.getBuiltinModule('node:http');
  const options: RequestOptions = {
    method: o.method,
    headers: {
      ...o.headers,
      ...(content === undefined ? {} : { 'content-length': String(content.bytes) }),
    },
    // A connection of an earlier request may be closing: an upload does not begin on it.
    agent: false,
    timeout: SILENCE_MS,
    lookup: o.lookup ?? lookupFor(target),
  };
  const req = request(target, options);
  // Without a listener, an error after the end of the exchange would end the process.
  req.on('error', () => {});
  const stop = () => req.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await answerOf(req, o);
  } catch (error) {
    req.destroy();
    if (signal.aborted) throw asMillraceError(signal.reason);
    throw error instanceof MillraceError ? error : networkError(error, false);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function answerOf(
  req: ClientRequest,
  { content, onInterim, maxBytes = MAX_PROBLEM_BYTES }: Exchange,
): Promise<Answer> {
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    req.once('response', resolve);
    req.on('error', reject);
    req.once('timeout', () =>
      req.destroy(new MillraceError('origin-timeout', 'the depot has been silent for 120 s')),
    );
    let interim = 0;
    req.on('drain', () => {
      interim = 0;
    });
    req.on('information', ({ statusCode, headers }) => {
      // While content goes out, a depot tells again and again how far it is.
      if (++interim > MAX_INTERIM_ANSWERS) return void req.destroy(tooManyInterim());
      if (statusCode === UPLOAD_RESUMPTION.status) onInterim?.(headers);
    });
  });
  let hasAnswer = false;
  const ended = answered.then(
    () => {
      hasAnswer = true;
    },
    () => {
      hasAnswer = true;
    },
  );
  for await (const piece of content?.pieces ?? []) {
    // An answer that comes before the end is a refusal: the rest is not wanted.
    if (hasAnswer) break;
    if (!req.write(piece)) await Promise.race([drained(req), ended]);
  }
  if (!hasAnswer) req.end();
  const late = new MillraceError('origin-timeout', 'the depot does not come to an answer');
  const deadline = setTimeout(() => req.destroy(late), ANSWER_MS);
  const res = await answered.finally(() => clearTimeout(deadline));
  const text = await textOf(res, maxBytes);
  const status = res.statusCode ?? 0;
  if (status >= 200 && status < 300) return { status, headers: res.headers, text };
  const waitMs = parseRetryAfter(listField(res.headers, 'retry-after'), Date.now());
  throw (
    readProblem(text, waitMs) ??
    refusalOf(status, req.method) ??
    new MillraceError('malformed-response', `that is no depot: it answers with ${status}`)
  );
}

/**
 * Names the error of an answer without a problem in its body: HEAD has none, and neither have other
 * servers on the way. Only to HEAD, a 404 or 410 is taken for the depot's.
 */
function refusalOf(status: number, method: string): MillraceError | undefined {
  if ((status === 404 || status === 410) && method !== 'HEAD') return undefined;
  if (status === 404) return new MillraceError('no-such-allocation');
  if (status === 409 && method === 'HEAD') return new MillraceError('upload-running');
  if (status === 410) return new MillraceError('allocation-expired');
  if (status === 429) return new MillraceError('too-many-requests');
  if (status === 503) return new MillraceError('draining');
  return status === 502 || status === 504 ? new MillraceError('origin-error') : undefined;
}

function drained(req: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    req.once('drain', resolve);
  });
}

async function textOf(res: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of res as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) throw new MillraceError('malformed-response', 'it is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
