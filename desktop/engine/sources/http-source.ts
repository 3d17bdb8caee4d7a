/**
 * A source of a file: an edge asked with a prefixed URL, the origin itself, or a mirror. Asks for
 * ranges and hands on answers that keep the range contract.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_DOWNLOAD_REDIRECTS } from '@millrace/shared/base/limits';
import { namesOther, type PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import { isRedirect, redirectTarget } from '@millrace/shared/http/answers/redirect';
import { ifRange } from '@millrace/shared/http/fields/conditions';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import { formatRange } from '@millrace/shared/http/fields/range-header';
import { matchVersion, readValidators } from '@millrace/shared/http/fields/validators';
import { formatPrefixedUrl } from '@millrace/shared/http/urls/prefixed-url';
import type { HttpStream } from '@millrace/shared/node/http-client';
import { answerError } from './answer-error.ts';
import { DownloadSource, type DownloadSourceOptions } from './download-source.ts';
import { type Opened, understand, type WholeAnswer, wholeOf } from './source-answer.ts';

type Fields = Readonly<Record<string, string>>;

/** Most stated versions to remember. */
const MAX_STATED = 16;

/** Sends one GET, without following redirects. */
type HttpGet = (url: URL, headers: Fields, signal: AbortSignal) => Promise<HttpStream>;

/** Header fields for each server in a chain of redirects. */
export interface HeaderFields {
  /**
   * Returns the header fields for a request to this URL; credentials go only where they belong.
   *
   * @param start the URL at which the redirects to this URL began
   */
  for(url: URL, start: URL): Fields;
  /** Called with each answer, which may set cookies. */
  onResponse?(url: URL, start: URL, headers: Headers): void;
}

export interface HttpSourceOptions extends DownloadSourceOptions {
  readonly fields: HeaderFields;
  readonly get: HttpGet;
  /**
   * Called before each request, redirects included.
   *
   * @throws MillraceError `source-refused` for a URL that must not be asked
   */
  readonly check?: ((target: URL, start: URL) => void) | undefined;
}

export class HttpSource extends DownloadSource {
  readonly #options: HttpSourceOptions;

  constructor(options: HttpSourceOptions) {
    super(options);
    this.#options = options;
  }

  override get id(): string {
    return this.requestUrl.href;
  }

  /** URL that is asked before any redirect: the edge's prefixed URL, or the file's own. */
  get requestUrl(): URL {
    return new URL(this.edge === undefined ? this.url : formatPrefixedUrl(this.edge, this.url));
  }

  override async openRange(
    asked: ByteRange,
    pinned: PinnedVersion | undefined,
    signal: AbortSignal,
  ): Promise<Opened> {
    const headers: Record<string, string> = { range: formatRange(asked) };
    const condition = pinned === undefined ? undefined : ifRange(pinned.validators);
    if (condition !== undefined) headers['if-range'] = condition;
    if (pinned !== undefined && this.edge !== undefined) {
      headers.prefer = 'delivery=out-of-order, resume-on-reset';
    }
    const response = await this.#get(headers, signal);
    this.#noteStated(response);
    try {
      return await understand(response, asked, pinned);
    } catch (error) {
      response.discard();
      const { status, headers: fields } = response;
      if (pinned !== undefined && namesOther(status, fields, pinned)) this.namesOther = true;
      throw error;
    }
  }

  /** @param mayBeEncoded leaves out Accept-Encoding, for which some servers refuse requests */
  override async openWhole(signal: AbortSignal, mayBeEncoded = false): Promise<WholeAnswer> {
    const response = await this.#get({}, signal, mayBeEncoded);
    try {
      return wholeOf(response);
    } catch (error) {
      response.discard();
      throw error;
    }
  }

  #noteStated({ status, headers }: HttpStream): void {
    const field = status === 206 ? listField(headers, 'content-range') : undefined;
    const length = parseContentRange(field)?.total;
    if (length === undefined || this.stated.length === MAX_STATED) return;
    const version = { length, validators: readValidators(headers) };
    const isNew = this.stated.every(
      (other) =>
        other.length !== length || matchVersion(other.validators, version.validators) !== 'same',
    );
    if (isNew) this.stated.push(version);
  }

  /** Sends a GET, follows redirects, and throws for statuses that bring no file. */
  async #get(headers: Fields, signal: AbortSignal, mayBeEncoded = false): Promise<HttpStream> {
    const { edge, fields, get, check } = this.#options;
    const start = this.requestUrl;
    let target = start;
    for (let hop = 0; ; hop++) {
      check?.(target, start);
      const own = { accept: '*/*', ...(mayBeEncoded ? {} : { 'accept-encoding': 'identity' }) };
      const all = { ...own, ...fields.for(target, start), ...headers };
      const askedAt = performance.now();
      const response = await get(target, all, signal);
      this.answeredBy = target;
      this.rttMs = Math.min(this.rttMs ?? Number.POSITIVE_INFINITY, performance.now() - askedAt);
      this.headMs = Math.min(this.headMs ?? Number.POSITIVE_INFINITY, response.headMs);
      fields.onResponse?.(target, start, response.headers);
      // Some answers offer a choice without naming one (RFC 9110 15.4.1).
      const leads = response.status !== 300 || response.headers.location !== undefined;
      if (!isRedirect(response.status) || !leads) {
        if (response.status < 300 || response.status === 416) return response;
        throw await answerError(response, edge !== undefined);
      }
      response.discard();
      if (hop === MAX_DOWNLOAD_REDIRECTS) throw new MillraceError('too-many-redirects');
      target = redirectTarget(response.headers, response.url);
    }
  }
}
