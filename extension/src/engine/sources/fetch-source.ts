/**
 * A source of a file, asked with the browser's `fetch`: the origin, or an edge with a prefixed URL.
 * Answers must keep the range contract before a byte of them is used (RFC 9110 14.4; NSDI 3.3).
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { SourceKind } from '@millrace/shared/download/request/source-kinds';
import type { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import { TransferSource } from '@millrace/shared/download/transfer/transfer-source';
import {
  MAX_PROBLEM_BYTES,
  PROBLEM_TYPE,
  readSourceProblem,
} from '@millrace/shared/http/answers/problem';
import { judgeAnswer, type PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import { statusError } from '@millrace/shared/http/answers/status-error';
import { ifRange } from '@millrace/shared/http/fields/conditions';
import type { Headers as Fields } from '@millrace/shared/http/fields/headers';
import { formatRange } from '@millrace/shared/http/fields/range-header';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import type { Validators } from '@millrace/shared/http/fields/validators';
import { formatPrefixedUrl } from '@millrace/shared/http/urls/prefixed-url';
import { contentCheck, readBody } from './body.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** An answer that keeps the range contract; its body is not read yet. */
export interface Opened {
  readonly range: ByteRange;
  readonly version: PinnedVersion;
  readonly fields: Fields;
  /** URL after all redirects. */
  readonly url: string;
  /**
   * Whether the source sent a digest of the body: no byte counts until the whole body is checked.
   */
  readonly checked: boolean;
  /**
   * Hands the body on, piece by piece.
   *
   * @throws MillraceError if the body is not all of `range`; errors of `take`
   */
  read(take: Sink): Promise<void>;
  discard(): void;
}

export interface FetchSourceOptions {
  /** URL of the file at the origin. */
  readonly url: string;
  /** Base URL of the edge to ask; undefined: the origin itself. */
  readonly edge: string | undefined;
  /** URL at which the redirects ended when they were last followed; it is asked first. */
  readonly finalUrl?: string | undefined;
  /** Whether only the publisher has named the edge: its redirects are not followed. */
  readonly published?: boolean | undefined;
  /** Fields for the origin, never for edges. */
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly health: SourceHealth;
  /** Unix milliseconds. */
  readonly wallNow: () => Millis;
}

/** Errors that say nothing about the target of redirects. */
const KEEPS_TO_ITSELF: ReadonlySet<ErrorCode> = new Set(['origin-busy']);
/**
 * Fields that `fetch` may set. The browser itself adds cookies, its own name and its languages, and
 * does not let scripts name the page of the link: Referer is a forbidden request header of the
 * Fetch standard. A rule of declarativeNetRequest could write it into our requests, but takes one
 * more permission, with which an extension can rewrite every request on every site; this extension
 * changes none. Few servers insist on the field, and their files are not lost: the proof fails, and
 * the browser's own download, which has sent the field, continues.
 */
const OWN_FIELDS: ReadonlySet<string> = new Set(['authorization']);

export class FetchSource extends TransferSource {
  readonly edge: string | undefined;
  /** The URL to ask. */
  readonly target: URL;
  readonly #options: FetchSourceOptions;
  /** URL at which redirects ended; asked in place of the target as long as it gives the file. */
  #resolved: URL | undefined;

  constructor(options: FetchSourceOptions) {
    const { edge, url, health } = options;
    super(health);
    this.edge = edge;
    this.target = new URL(edge === undefined ? url : formatPrefixedUrl(edge, url));
    this.#options = options;
    if (edge === undefined) this.#resolve(options.finalUrl ?? '');
  }

  override get id(): string {
    return this.target.href;
  }

  override get kind(): SourceKind {
    return this.edge === undefined ? 'origin' : 'edge';
  }

  override get host(): string {
    return (this.#resolved ?? this.target).host;
  }

  /**
   * Requests a range.
   *
   * @param pinned the version that the answer must be of; undefined for the first request
   * @throws MillraceError; the signal's reason
   */
  async open(
    asked: ByteRange,
    pinned: PinnedVersion | undefined,
    signal: AbortSignal,
  ): Promise<Opened> {
    const direct = this.#resolved;
    if (direct === undefined) return this.#openAt(this.target, asked, pinned, signal);
    try {
      return await this.#openAt(direct, asked, pinned, signal);
    } catch (error) {
      if (!(error instanceof MillraceError) || KEEPS_TO_ITSELF.has(error.code)) throw error;
      signal.throwIfAborted();
      // The redirect's URL expired, or now has another file: follow the redirects again.
      if (this.#resolved === direct) this.#resolved = undefined;
      return this.#openAt(this.target, asked, pinned, signal);
    }
  }

  #resolve(url: string): void {
    if (url === '' || url === this.target.href || !URL.canParse(url)) return;
    const { protocol } = new URL(url);
    if (protocol === 'http:' || protocol === 'https:') this.#resolved = new URL(url);
  }

  async #openAt(
    url: URL,
    asked: ByteRange,
    pinned: PinnedVersion | undefined,
    signal: AbortSignal,
  ): Promise<Opened> {
    // Ends an answer that is not read completely, and its connection.
    const end = new AbortController();
    const response = await this.#get(
      url,
      asked,
      pinned?.validators,
      AbortSignal.any([signal, end.signal]),
      signal,
    );
    const fields: Fields = Object.fromEntries(response.headers);
    const discard = () => end.abort();
    try {
      const { range, version } = await this.#understand(response, fields, asked, pinned);
      const check = contentCheck(fields, range);
      const read: Opened['read'] = async (take) => {
        await readBody(response, range, check?.of(take) ?? take, signal, discard);
        await check?.finish();
      };
      const checked = check !== undefined;
      if (this.edge === undefined) this.#resolve(response.url);
      return { range, version, fields, url: response.url, checked, read, discard };
    } catch (error) {
      discard();
      throw error;
    }
  }

  async #get(
    url: URL,
    asked: ByteRange,
    validators: Validators | undefined,
    signal: AbortSignal,
    outer: AbortSignal,
  ): Promise<Response> {
    const { edge, published, headers, fetch } = this.#options;
    const fields: Record<string, string> = { range: formatRange(asked) };
    const condition = validators === undefined ? undefined : ifRange(validators);
    if (condition !== undefined) fields['if-range'] = condition;
    if (edge !== undefined) fields.prefer = 'resume-on-reset';
    else if (url.origin === this.target.origin) {
      // A redirect to another origin would drop these fields, too (Fetch, HTTP-redirect fetch).
      for (const [name, value] of Object.entries(headers)) {
        if (OWN_FIELDS.has(name.toLowerCase())) fields[name.toLowerCase()] = value;
      }
    }
    try {
      return await fetch(url.href, {
        headers: fields,
        signal,
        credentials: edge === undefined ? 'include' : 'omit',
        // Only the first hop was checked: a redirect could lead into the user's own network.
        redirect: published ? 'manual' : 'follow',
        // With If-Range the browser's cache stays out of the request, and adds no fields for caches
        // on the way.
        cache: condition === undefined ? 'no-store' : 'default',
        referrerPolicy: 'no-referrer',
      });
    } catch (cause) {
      outer.throwIfAborted();
      throw new MillraceError('origin-unreachable', url.host, { cause });
    }
  }

  async #understand(
    response: Response,
    fields: Fields,
    asked: ByteRange,
    pinned: PinnedVersion | undefined,
  ): Promise<{ range: ByteRange; version: PinnedVersion }> {
    const { status, type } = response;
    if (type === 'opaqueredirect') throw new MillraceError('malformed-response', 'it redirects');
    // The body of an edge's refusal says more than the status.
    if (status >= 300 && status !== 416) throw await this.#answerError(response);
    const judged = judgeAnswer(status, fields, asked, pinned);
    if (judged.kind === 'range') return judged;
    // A source without ranges is no better than the browser's own download. Several parts may be
    // sent only on request.
    const inParts = judged.kind === 'parts' || judged.kind === 'first-parts';
    throw new MillraceError(inParts ? 'malformed-response' : 'range-ignored');
  }

  /** Returns the error for an answer without the file; an edge states the error itself. */
  async #answerError(response: Response): Promise<MillraceError> {
    const { status, headers } = response;
    const given = headers.get('retry-after') ?? undefined;
    const retryAfterMs = parseRetryAfter(given, this.#options.wallNow());
    const text = this.edge === undefined ? undefined : await readText(response);
    const stated = text === undefined ? undefined : readSourceProblem(text, retryAfterMs);
    return stated ?? statusError(status, retryAfterMs);
  }
}

/** Returns the body of a problem document; undefined if the answer is not one. */
async function readText(response: Response): Promise<string | undefined> {
  const type = response.headers.get('content-type') ?? '';
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (!type.startsWith(PROBLEM_TYPE) || !(length <= MAX_PROBLEM_BYTES)) return undefined;
  return response.text().catch(() => undefined);
}
