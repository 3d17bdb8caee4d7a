/**
 * Builds the header fields of a download's requests: the user's own fields, and the cookies
 * received during the download, each sent only where it may go.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { fieldValue, userFields } from '@millrace/shared/http/fields/field-syntax';
import type { Headers } from '@millrace/shared/http/fields/headers';
import {
  type Chain,
  mayHaveCookies,
  mayLogIn,
  referrerIn,
  scopeOf,
} from '@millrace/shared/http/urls/credentials-scope';
import { Cookies } from './cookies.ts';
import { basicAuthorization, type Login, takeLogin } from './credentials.ts';

export interface RequestFieldsOptions {
  /**
   * URLs of the file, the user's own first; the fields below are for the origin of that first URL.
   */
  readonly urls: readonly string[];
  /** The user's fields; they may include Cookie, Authorization, Referer and User-Agent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Takes precedence over a log-in in the URL, but not over an Authorization field. */
  readonly login?: Login | undefined;
  /** Takes precedence over a Referer field. */
  readonly referrer?: string | undefined;
  readonly userAgent?: string | undefined;
  /** Cookies from a file; further cookies are added to them. */
  readonly cookies?: Cookies | undefined;
  /** Log-in from netrc for the first URL's host: used if there is no other. */
  readonly netrc?: Login | undefined;
}

const USER_AGENT = 'Millrace/0.1';

export class RequestFields {
  /** The URLs without user names and passwords, safe to store, show and log. */
  readonly urls: readonly string[];
  readonly #first: URL;
  /** Fields for the first URL's origin. */
  readonly #own: Readonly<Record<string, string>>;
  readonly #userAgent: string;
  readonly #referrer: URL | undefined;
  readonly #cookies: Cookies;
  /** Authorization by origin. */
  readonly #logins = new Map<string, string>();

  /** @throws MillraceError `bad-url`, `bad-option` */
  constructor(options: RequestFieldsOptions) {
    const taken = options.urls.map(takeLogin);
    const [first] = taken;
    if (first === undefined) throw new MillraceError('bad-url', 'there is none');
    this.urls = taken.map(({ url }) => url);
    this.#first = new URL(first.url);
    const {
      cookie,
      authorization,
      referer,
      'user-agent': userAgent,
      ...own
    } = userFields(options.headers);
    this.#own = own;
    this.#userAgent = fieldValue('user-agent', options.userAgent ?? userAgent ?? USER_AGENT);
    this.#referrer = referrerUrl(options.referrer ?? referer);
    this.#cookies = options.cookies ?? new Cookies();
    if (cookie !== undefined) this.#cookies.addField(cookie, this.#first);
    for (const { url, login } of taken) {
      const { origin } = new URL(url);
      if (login === undefined || this.#logins.has(origin)) continue;
      this.#logins.set(origin, basicAuthorization(login));
    }
    const { login, netrc } = options;
    const { origin } = this.#first;
    if (authorization !== undefined) this.#logins.set(origin, authorization);
    else if (login !== undefined) this.#logins.set(origin, basicAuthorization(login));
    else if (netrc !== undefined && !this.#logins.has(origin)) {
      this.#logins.set(origin, basicAuthorization(netrc));
    }
  }

  /**
   * True if requests to the first URL carry fields that requests to edges do not: a download
   * through edges would differ.
   */
  get personal(): boolean {
    return (
      Object.keys(this.#own).length > 0 ||
      this.#logins.has(this.#first.origin) ||
      this.#referrer !== undefined ||
      this.#cookies.fieldFor(this.#first) !== undefined
    );
  }

  /**
   * Returns the fields that may be sent.
   *
   * @param url requested URL, after redirects
   * @param chain start of those redirects
   */
  fieldsFor(url: URL, chain: Chain): Record<string, string> {
    const scope = scopeOf(url, chain, this.#first);
    if (scope === 'edge') return { 'user-agent': USER_AGENT };
    const fields: Record<string, string> = {
      ...(scope === 'own' ? this.#own : {}),
      'user-agent': this.#userAgent,
    };
    const login = this.#logins.get(url.origin);
    if (login !== undefined && mayLogIn(url, chain, url.origin)) fields.authorization = login;
    const cookie = mayHaveCookies(scope) ? this.#cookies.fieldFor(url) : undefined;
    if (cookie !== undefined) fields.cookie = cookie;
    const referrer = this.#referrer && referrerIn(scope, url, this.#referrer);
    if (referrer !== undefined) fields.referer = referrer;
    return fields;
  }

  /** Takes the cookies of an answer, also of a redirect. */
  onResponse(url: URL, chain: Chain, headers: Headers): void {
    if (!mayHaveCookies(scopeOf(url, chain, this.#first))) return;
    this.#cookies.onSetCookie(url, headers['set-cookie']);
  }
}

/** Returns a page's URL without its private parts. */
function referrerUrl(text: string | undefined): URL | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return new URL(takeLogin(text).url);
  } catch {
    throw new MillraceError('bad-option', { code: 'referrer-not-http' });
  }
}
