/**
 * The cookies of one download (RFC 6265): from a Cookie field, from a browser's cookies.txt, and
 * from servers during the download. Domain, path and Secure decide which requests carry each of
 * them.
 */

import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Cookie, CookieJar } from 'tough-cookie';

const require = createRequire(import.meta.url);

/** Longest cookie with its attributes, in characters (RFC 6265 6.1). */
const MAX_COOKIE_CHARS = 4096;
/** Cookies that servers may set during one download. */
const MAX_SET_COOKIES = 500;
/** Longest Cookie field, in characters: servers refuse longer ones. */
const MAX_FIELD_CHARS = 16 * 1024;
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_FILE_COOKIES = 20_000;
/** Characters that a field's value must not have. */
const FORBIDDEN = /[\x00-\x08\x0a-\x1f\x7f]/;

export class Cookies {
  #jar: CookieJar | undefined;
  #set = 0;

  /**
   * Takes the cookies of a Cookie field that a browser would send with `url`: they stay with its
   * host, and with https:// if the URL has it.
   */
  addField(value: string, url: URL): void {
    for (const pair of value.split(';')) {
      const { key, text } = splitPair(pair.trim());
      if (key === '' && text === '') continue;
      const secure = url.protocol === 'https:';
      const { Cookie } = library();
      const cookie = new Cookie({ key, value: text, path: '/', secure });
      this.#getJar().setCookieSync(cookie, url.href, { ignoreError: true });
    }
  }

  /**
   * Takes the cookies of a cookies.txt.
   *
   * @param text one character per byte, as Latin-1
   * @returns number of cookies taken, and of lines that were not understood
   * @throws MillraceError `bad-option` if lines were not understood, and no cookie was taken
   */
  addFile(text: string): { taken: number; skipped: number } {
    let taken = 0;
    let skipped = 0;
    for (const line of text.split(/\r?\n/)) {
      const rest = line.startsWith('#HttpOnly_') ? line.slice('#HttpOnly_'.length) : line;
      if (rest.trim() === '' || rest.startsWith('#')) continue;
      if (taken < MAX_FILE_COOKIES && this.#addLine(rest)) taken++;
      else skipped++;
    }
    if (taken === 0 && skipped > 0) {
      throw new MillraceError('bad-option', { code: 'cookies-not-txt' });
    }
    return { taken, skipped };
  }

  /** Returns the Cookie field for a request; undefined: none. */
  fieldFor(url: URL): string | undefined {
    let field = '';
    for (const cookie of this.#cookiesFor(url)) {
      const pair = cookie.cookieString();
      if (field.length + pair.length + 2 > MAX_FIELD_CHARS) break;
      field += field === '' ? pair : `; ${pair}`;
    }
    return field === '' ? undefined : field;
  }

  #cookiesFor(url: URL): Cookie[] {
    try {
      return this.#jar?.getCookiesSync(url.href) ?? [];
    } catch {
      return []; // the library rejects a host called "local", "test" or "example"
    }
  }

  /** Takes the Set-Cookie fields of an answer; cookies that the server may not set are dropped. */
  onSetCookie(url: URL, fields: string | readonly string[] | undefined): void {
    for (const field of typeof fields === 'string' ? [fields] : (fields ?? [])) {
      if (this.#set >= MAX_SET_COOKIES) return;
      if (field.length > MAX_COOKIE_CHARS || FORBIDDEN.test(field)) continue;
      this.#set++;
      this.#getJar().setCookieSync(field, url.href, { ignoreError: true });
    }
  }

  #getJar(): CookieJar {
    this.#jar ??= new (library().CookieJar)(undefined, { looseMode: true });
    return this.#jar;
  }

  /**
   * Takes a line of tab-separated values: domain, subdomains too, path, Secure, Unix time or 0,
   * name, value.
   */
  #addLine(line: string): boolean {
    const [domain = '', subdomains, path = '', secure, expires, name, ...values] = line.split('\t');
    const value = values.join('\t');
    const host = domain.replace(/^\./, '').toLowerCase();
    if (host === '' || !path.startsWith('/') || name === undefined) return false;
    const size = name.length + value.length;
    if (size === 0 || size > MAX_COOKIE_CHARS || FORBIDDEN.test(name + value)) return false;
    const seconds = Number(expires);
    if (!isFlag(subdomains) || !isFlag(secure) || Number.isNaN(seconds)) return false;
    const everywhere =
      subdomains.toUpperCase() === 'TRUE' && isIP(host) === 0 && host.includes('.');
    const { Cookie } = library();
    const cookie = new Cookie({
      key: name,
      value,
      path,
      domain: everywhere ? host : null,
      secure: secure.toUpperCase() === 'TRUE',
      // Zero or less: until the browser is closed, which for a download is never.
      expires: seconds > 0 ? new Date(Math.min(seconds, 8.64e12) * 1000) : 'Infinity',
    });
    try {
      // The library refuses a cookie for all of com or co.uk.
      return this.#getJar().setCookieSync(cookie, `https://${host}${path}`) !== undefined;
    } catch {
      return false;
    }
  }
}

/**
 * Loads the library with the first cookie: most downloads have none, and it contains the list of
 * all public suffixes. `require` is used because answers that set cookies are not waited for.
 */
function library(): typeof import('tough-cookie') {
  return require('tough-cookie');
}

/**
 * Reads a cookies.txt into `cookies`.
 *
 * @returns as `addFile`
 * @throws MillraceError `bad-option`
 */
export async function readCookieFile(
  cookies: Cookies,
  path: string,
): Promise<{ taken: number; skipped: number }> {
  let text: string;
  try {
    const handle = await open(path);
    try {
      if ((await handle.stat()).size > MAX_FILE_BYTES) {
        throw new MillraceError('bad-option', { code: 'cookies-too-large', values: { path } });
      }
      text = await handle.readFile('latin1');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new MillraceError('bad-option', `${path} cannot be read (${code})`);
  }
  return cookies.addFile(text);
}

function isFlag(text: string | undefined): text is string {
  return text !== undefined && /^(true|false)$/i.test(text);
}

/** A pair without = is a value without a name, as in browsers. */
function splitPair(pair: string): { key: string; text: string } {
  const at = pair.indexOf('=');
  if (at < 0) return { key: '', text: pair };
  return { key: pair.slice(0, at).trim(), text: pair.slice(at + 1).trim() };
}
