/**
 * How requests get into origins that let only this edge in, and the second origin of those that have
 * one. Keys are looked up by the URL of each request, so they follow no redirect elsewhere.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { singleField } from '@millrace/shared/http/fields/headers';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import type { OriginKeys, S3Keys } from '../policy/origin-keys.ts';

/** A request, as far as it matters where it goes. */
interface Asked {
  readonly url: URL;
  readonly admits?: ((url: URL) => boolean) | undefined;
}

export interface OriginAccessOptions {
  /** Returns the keys, which change when their file is read again. */
  readonly keys: () => OriginKeys;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  /** Called when requests begin to go to the second origin. */
  readonly onFallback: (origin: string, reason: string) => void;
}

/** Time for which an origin that has failed is not asked, if there is a second one. */
const DOWN_MS: Millis = 10_000;
/** Errors that show that an origin fails as a whole. */
const FAILURES = ['origin-unreachable', 'origin-timeout', 'origin-reset'] as const;
/** SHA-256 of no bytes: these requests have no body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const STRONG_TAG = /^"[^"]*"$/;

export class OriginAccess {
  readonly #options: OriginAccessOptions;
  /** Times until which origins are not asked. As many as the file has origins. */
  readonly #downUntil = new Map<string, Millis>();

  constructor(options: OriginAccessOptions) {
    this.#options = options;
  }

  /** Makes the header fields by which an origin lets a request in. */
  async fields(url: URL, method: 'GET' | 'HEAD'): Promise<Readonly<Record<string, string>>> {
    const key = this.#options.keys().of(url);
    if (key === undefined) return {};
    if (key.s3 === undefined) return key.fields;
    const signed = await signS3(key.s3, url, method, new Date(this.#options.wallClock()));
    return { ...key.fields, ...signed };
  }

  /**
   * Sends a request, and sends it to the second origin if the first fails: it cannot be reached, does
   * not answer, or answers 5xx. The answer of the second counts only with a strong entity tag, and
   * bears the first one's URL: it is the same file exactly if the tag is the same.
   *
   * @throws the error of the first origin if the second has no answer that counts
   */
  async send<A extends HttpAnswer, R extends Asked>(
    request: R,
    send: (request: R) => Promise<A>,
  ): Promise<A> {
    const { keys, now } = this.#options;
    const { url } = request;
    const key = keys().of(url);
    if (key?.fallback === undefined) return send(request);
    let failure: unknown;
    if (now() >= (this.#downUntil.get(key.origin) ?? Number.NEGATIVE_INFINITY)) {
      try {
        const answer = await send(request);
        if (answer.status < 500 || answer.status === 501) return answer;
        answer.discard();
        failure = new MillraceError('origin-error', `status ${answer.status}`);
      } catch (error) {
        if (!FAILURES.some((code) => isMillraceError(error, code))) throw error;
        failure = error;
      }
      this.#downUntil.set(key.origin, now() + DOWN_MS);
      this.#options.onFallback(key.origin, (failure as MillraceError).code);
    }
    const second = elsewhere(url, key.origin, key.fallback);
    const admits = (target: URL) =>
      target.origin === second.origin || request.admits?.(target) === true;
    try {
      const answer = await send({ ...request, url: second, admits });
      if (counts(answer)) return Object.assign(answer, { url });
      answer.discard();
      failure ??= new MillraceError('origin-error', 'the second origin gives no strong entity tag');
    } catch (error) {
      failure ??= error;
    }
    // The first one may be back.
    this.#downUntil.delete(key.origin);
    throw failure;
  }
}

/** Returns true for an answer that says which version it is, or that has no bytes of a file. */
function counts({ status, headers }: HttpAnswer): boolean {
  if (status >= 500) return false;
  return status >= 300 || STRONG_TAG.test(singleField(headers, 'etag') ?? '');
}

/** Names a file at the second origin. */
function elsewhere(url: URL, origin: string, fallback: URL): URL {
  const prefix = new URL(origin).pathname.replace(/\/$/, '');
  const second = new URL(fallback);
  second.pathname = fallback.pathname.replace(/\/$/, '') + url.pathname.slice(prefix.length);
  second.search = url.search;
  return second;
}

/**
 * Signs a request for S3 (AWS Signature Version 4). The signature covers method, host, path, query
 * and time; ranges and conditions may differ between requests.
 *
 * @param at time of the request
 */
export async function signS3(
  { region, accessKeyId, secretAccessKey, sessionToken }: S3Keys,
  url: URL,
  method: 'GET' | 'HEAD',
  at: Date,
): Promise<Record<string, string>> {
  // Loaded only here: most edges have no such origin.
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    ...{ method, url: url.href, service: 's3', region, accessKeyId, secretAccessKey },
    ...(sessionToken === undefined ? {} : { sessionToken }),
    headers: { 'x-amz-content-sha256': EMPTY_SHA256 },
    datetime: at.toISOString().replace(/[:-]|\.\d{3}/g, ''),
  });
  const { headers } = await signer.sign();
  const fields = Object.fromEntries(headers as unknown as Iterable<[string, string]>);
  delete fields.host;
  return fields;
}
