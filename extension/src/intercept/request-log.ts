/**
 * Remembers the browser's latest requests: a download shows its URL, but neither its request nor
 * the answer's fields. Bounded; a download whose request is forgotten is left alone.
 */

import type { Millis } from '@millrace/shared/base/clock';

/** Requests that are remembered; the oldest goes first. */
export const MAX_REQUESTS = 200;
/** A download begins as soon as its answer's header is there. */
export const REMEMBERED_MS = 60_000;
const MAX_HOPS = 20;
const MAX_FIELD_CHARS = 8192;

/** Fields of requests that identify the user (lower case), and go along with a download. */
const CARRIED_FIELDS = [
  'accept-language',
  'authorization',
  'cookie',
  'referer',
  'user-agent',
] as const;

/** Fields of answers that decisions are made on. */
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
/** Of these it is only remembered that they were there: they are secrets. */
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
  /** `CARRIED_FIELDS`; undefined where the browser does not show its request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface SeenRequest {
  /** The browser's. */
  readonly id: string;
  /** In order, one or more. */
  readonly hops: readonly Hop[];
  /** Of the last hop, where it has been answered. */
  readonly answer?:
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        /** Address that it came from, where the browser tells. */
        readonly ip?: string | undefined;
      }
    | undefined;
  /** Made for a frame within a page. */
  readonly framed?: boolean | undefined;
  /** When it was heard of last. */
  readonly at: Millis;
}

export class RequestLog {
  /** In the order in which they were heard of last. */
  readonly #requests = new Map<string, SeenRequest>();

  /** @param remembered of an earlier life */
  constructor(remembered: readonly SeenRequest[] = []) {
    for (const request of remembered.slice(-MAX_REQUESTS)) this.#requests.set(request.id, request);
  }

  /** All of them, to be remembered. */
  get all(): readonly SeenRequest[] {
    return [...this.#requests.values()];
  }

  get(id: string): SeenRequest | undefined {
    return this.#requests.get(id);
  }

  /** A request begins, or continues elsewhere after a redirect. */
  began(id: string, method: string, url: string, now: Millis, framed = false): void {
    const hops = this.#requests.get(id)?.hops ?? [];
    // Browsers do not follow a chain of this length: its requests are never looked for.
    if (hops.length >= MAX_HOPS) return;
    const all = [...hops, { url, method }];
    this.#put({ id, hops: all, ...(framed ? { framed } : {}), at: now });
  }

  /** A request is sent; again where the server wanted a log-in first. */
  sent(id: string, fields: readonly Field[] | undefined, now: Millis): void {
    const request = this.#requests.get(id);
    const last = request?.hops.at(-1);
    // Without any fields the browser keeps them to itself: no request has none.
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
   * The request that a download came with. Where several fit and differ in relevant fields, none is
   * returned: the right one is unknown.
   *
   * @param url where the download comes from, after redirects
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

/** Makes the text that two requests for the same download have in common. */
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

/** By name in lower case; lines of one name that differ are joined as a list (RFC 9110 5.3). */
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
