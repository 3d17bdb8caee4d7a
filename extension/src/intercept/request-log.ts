/**
 * Remembers the browser's latest requests, since a download shows its URL, but neither its request
 * nor the answer's fields. Bounded; a download whose request was forgotten is left alone.
 */

import type { Millis } from '@millrace/shared/base/clock';

/** Most requests to remember; the oldest goes first. */
export const MAX_REQUESTS = 200;
/**
 * Time for which a request can be found, ms: downloads begin as soon as the answer's header is
 * there.
 */
export const REMEMBERED_MS = 60_000;
const MAX_HOPS = 20;
const MAX_FIELD_CHARS = 8192;

/** Request fields (lower case) that identify the user, and that go along with a download. */
const CARRIED_FIELDS = [
  'accept-language',
  'authorization',
  'cookie',
  'referer',
  'user-agent',
] as const;

/** Answer fields that decisions depend on. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set([
  'authentication-info',
  'cache-control',
  'cdn-cache-control',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-type',
  'etag',
  'last-modified',
  'link',
  'set-cookie',
  'surrogate-control',
  'vary',
]);
/** Secret fields: only their presence is remembered. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['authentication-info', 'set-cookie']);
const REQUEST_FIELDS: ReadonlySet<string> = new Set(CARRIED_FIELDS);

export interface Field {
  readonly name: string;
  readonly value?: string | undefined;
}

/** One request of a chain of redirects. */
export interface Hop {
  readonly url: string;
  readonly method: string;
  /**
   * Those of `CARRIED_FIELDS` that were sent; undefined if the browser does not show its request.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface SeenRequest {
  /** The browser's id of the request. */
  readonly id: string;
  /** The request and its redirects, in order, one or more. */
  readonly hops: readonly Hop[];
  /** Answer to the last hop, if there is one yet. */
  readonly answer?:
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        /** Address that the answer came from, if the browser tells it. */
        readonly ip?: string | undefined;
      }
    | undefined;
  /** Whether the request was made for a frame within a page. */
  readonly framed?: boolean | undefined;
  /** Time of the last event of the request. */
  readonly at: Millis;
}

export class RequestLog {
  /** Requests by id, in the order of their last events. */
  readonly #requests = new Map<string, SeenRequest>();

  /** @param remembered requests of an earlier background */
  constructor(remembered: readonly SeenRequest[] = []) {
    for (const request of remembered.slice(-MAX_REQUESTS)) this.#requests.set(request.id, request);
  }

  /** All requests, so that they can be stored. */
  get all(): readonly SeenRequest[] {
    return [...this.#requests.values()];
  }

  get(id: string): SeenRequest | undefined {
    return this.#requests.get(id);
  }

  /** Notes that a request begins, or continues elsewhere after a redirect. */
  began(id: string, method: string, url: string, now: Millis, framed = false): void {
    const hops = this.#requests.get(id)?.hops ?? [];
    // Browsers do not follow a chain of this length, so its requests are never looked for.
    if (hops.length >= MAX_HOPS) return;
    const all = [...hops, { url, method }];
    this.#put({ id, hops: all, ...(framed ? { framed } : {}), at: now });
  }

  /**
   * Notes the fields of a sent request, which is sent again if the server wanted a log-in first.
   */
  sent(id: string, fields: readonly Field[] | undefined, now: Millis): void {
    const request = this.#requests.get(id);
    const last = request?.hops.at(-1);
    // An empty list means that the browser hides the fields: every request has some.
    if (request === undefined || last === undefined || !fields?.length) return;
    const headers = pick(fields, REQUEST_FIELDS);
    this.#put({ ...request, hops: [...request.hops.slice(0, -1), { ...last, headers }], at: now });
  }

  answered(
    id: string,
    status: number,
    fields: readonly Field[] | undefined,
    now: Millis,
    ip?: string,
  ): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#put({
      ...request,
      answer: { status, headers: pick(fields ?? [], ANSWER_FIELDS), ...(ip ? { ip } : {}) },
      at: now,
    });
  }

  /**
   * Returns the request of a download. If several fit and differ in relevant fields, returns none,
   * since the right one is not known.
   *
   * @param url URL of the download after all redirects
   */
  find(url: string, now: Millis): SeenRequest | undefined {
    const found = this.all.filter(
      ({ hops, answer, at }) =>
        answer !== undefined && now - at <= REMEMBERED_MS && bare(hops.at(-1)?.url) === bare(url),
    );
    const newest = found.at(-1);
    return found.every((other) => likeness(other) === likeness(newest)) ? newest : undefined;
  }

  #put(request: SeenRequest): void {
    this.#requests.delete(request.id);
    this.#requests.set(request.id, request);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MAX_REQUESTS && oldest !== undefined) this.#requests.delete(oldest);
  }
}

/** Returns a text that is equal for requests of the same download. */
function likeness(request: SeenRequest | undefined): string {
  const { 'content-length': length, etag, 'last-modified': date } = request?.answer?.headers ?? {};
  return JSON.stringify([
    request?.hops.map(({ url, method }) => [bare(url), method]),
    request?.answer?.status,
    length,
    etag,
    date,
  ]);
}

const bare = (url: string | undefined) => url?.replace(/#.*$/s, '');

/**
 * Returns the given fields by lower-case name. Lines of one name that differ are joined as a list
 * (RFC 9110 5.3).
 */
function pick(fields: readonly Field[], names: ReadonlySet<string>): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const { name: given, value: said } of fields) {
    const name = given.toLowerCase();
    const value = SECRET_FIELDS.has(name) ? '' : said;
    if (value === undefined || value.length > MAX_FIELD_CHARS || !names.has(name)) continue;
    const before = picked[name];
    picked[name] = before === undefined || before === value ? value : `${before}, ${value}`;
  }
  return picked;
}
