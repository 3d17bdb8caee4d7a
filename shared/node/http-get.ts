/** Sends one GET or HEAD through undici and gives its body to the caller, without buffers or redirects. */

import type { Dispatcher } from 'undici';
import { MillraceError } from '../src/base/errors.ts';
import { MAX_HEAD_WAIT_MS, MAX_INTERIM_ANSWERS } from '../src/base/limits.ts';
import type { Headers } from '../src/http/fields/headers.ts';
import { requestTarget } from '../src/http/urls/prefixed-url.ts';
import { Deadline } from './deadline.ts';
import { tooManyInterim } from './head-buffer.ts';
import { HttpResponse, type Method } from './http-response.ts';
import { networkError } from './network-error.ts';

export interface HttpGetOptions {
  /** Default: GET. */
  readonly method?: Method;
  /**
   * Longest time from sending the request until the head is complete, milliseconds; by default ten
   * minutes.
   */
  readonly headMs?: number;
  /** Called when the body has been read, discarded, or broken off; not called if no head came. */
  readonly onDone?: () => void;
  /** Called for each interim answer (1xx). @param headers names in lower case */
  readonly onInterim?: ((status: number, headers: Headers) => void) | undefined;
}

/**
 * Sends a GET or HEAD, and sends it once more if the connection broke before an answer began: it may have
 * been a kept-alive connection that the server had just closed.
 *
 * @param signal ends the exchange at any point, the body included
 * @returns a response whose body must be read or discarded
 * @throws the signal's reason; MillraceError for every other failure before the head is complete
 */
export async function httpGet(
  dispatcher: Dispatcher,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  options: HttpGetOptions = {},
): Promise<HttpResponse> {
  try {
    return await dispatch(dispatcher, url, headers, signal, options);
  } catch (error) {
    const stale = error instanceof MillraceError && error.code === 'origin-reset';
    if (!stale || signal.aborted) throw error;
    return dispatch(dispatcher, url, headers, signal, options);
  }
}

function dispatch(
  dispatcher: Dispatcher,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  { method = 'GET', headMs = MAX_HEAD_WAIT_MS, onDone, onInterim }: HttpGetOptions,
): Promise<HttpResponse> {
  const requestedAt = Date.now();
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let response: HttpResponse | undefined;
    let running: Dispatcher.DispatchController | undefined;
    let sentAt = performance.now();
    let interim = 0;
    // Undici's own timeout starts again with every byte and interim answer; this deadline does not.
    const headDeadline = new Deadline(() => {
      running?.abort(new MillraceError('origin-timeout', { code: 'header-late' }));
    });
    const onAbort = () => {
      running?.abort(signal.reason as Error);
      reject(signal.reason); // the request may still be waiting for a connection
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const finish = (outcome: { readonly error?: unknown }) => {
      signal.removeEventListener('abort', onAbort);
      headDeadline.clear();
      if (response === undefined) return reject(outcome.error);
      response.onOutcome(outcome);
      onDone?.();
    };
    dispatcher.dispatch(
      { origin: url.origin, path: requestTarget(url), method, headers },
      {
        onRequestStart(controller) {
          running = controller;
          sentAt = performance.now();
          if (signal.aborted) return onAbort();
          headDeadline.set(headMs);
        },
        onResponseStart(controller, status, fields) {
          if (status < 200) {
            if (++interim > MAX_INTERIM_ANSWERS) return controller.abort(tooManyInterim());
            return onInterim?.(status, fields);
          }
          const coding = fields['transfer-encoding'];
          if (coding !== undefined && !isPlainlyChunked(coding)) {
            // Undici would pass the body on as it was on the way.
            const text = `transfer coding ${coding} cannot be read`;
            return controller.abort(new MillraceError('malformed-response', text));
          }
          headDeadline.clear();
          const arrivedAt = Date.now();
          const headMs = performance.now() - sentAt;
          const times = { requestedAt, arrivedAt, headMs };
          response = new HttpResponse({
            method,
            status,
            headers: fields,
            url,
            ...times,
            controller,
          });
          resolve(response);
        },
        onResponseData: (_controller, chunk) => response?.onData(chunk),
        onResponseEnd: () => finish({}),
        onResponseError: (_controller, error) => {
          const reason = signal.aborted
            ? signal.reason
            : networkError(error, response !== undefined);
          finish({ error: reason });
        },
      },
    );
  });
}

/** Returns true for the one coding that undici undoes. */
function isPlainlyChunked(coding: string | string[]): boolean {
  return typeof coding === 'string' && coding.trim().toLowerCase() === 'chunked';
}
