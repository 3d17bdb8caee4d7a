/**
 * An edge that runs for its own user on loopback. Web pages can send requests there as well. So
 * origins that are not listed need the local token, which no page can know, and a name that was
 * made to point at loopback (DNS rebinding) is refused. Without the token, requests by a page of
 * another site are refused as well (Fetch Metadata, W3C; Origin, RFC 6454), because the edge
 * fetches files from the user's own address.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import type { Scope } from '../files/file-version.ts';

/** Request field with the local token. */
export const TOKEN_FIELD = 'x-millrace-token';

const LOCAL_HOST = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

export class LocalAccess {
  readonly #token: Buffer;

  constructor(token: string) {
    this.#token = Buffer.from(token);
  }

  /**
   * Reads the token from a file, making one if there is none. Only the user can read it.
   *
   * @throws if the file can neither be read nor made
   */
  static async fromFile(path: string): Promise<LocalAccess> {
    const read = async () => (await readFile(path, 'utf8')).trim();
    let token = await read().catch(() => '');
    if (token.length < 32) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      token = randomBytes(32).toString('base64url');
      await writeFile(path, `${token}\n`, { mode: 0o600 });
    }
    return new LocalAccess(token);
  }

  /**
   * Decides the scope of a request.
   *
   * @throws MillraceError `not-a-proxy` for a Host that is not this machine's loopback;
   *   `other-site` for a request without the token that a web page of another site has made
   */
  scope(headers: Headers): Scope {
    const host = listField(headers, 'host') ?? '';
    if (!LOCAL_HOST.test(host)) {
      throw new MillraceError('not-a-proxy', 'this edge answers to localhost only');
    }
    const given = Buffer.from(listField(headers, TOKEN_FIELD) ?? '');
    const known = given.length === this.#token.length && timingSafeEqual(given, this.#token);
    if (known) return 'private';
    if (isFromOtherSite(headers, host)) throw new MillraceError('other-site');
    return 'public';
  }
}

/**
 * Returns true for requests that a page of another site has made, by the browser's fields.
 * Sandboxed pages, such as proxied ones, have no origin: they count as another site. Programs send
 * neither field.
 */
function isFromOtherSite(headers: Headers, host: string): boolean {
  const site = listField(headers, 'sec-fetch-site');
  if (site !== undefined && site !== 'none' && site !== 'same-origin') return true;
  const origin = listField(headers, 'origin')?.toLowerCase();
  if (origin === undefined) return false;
  return !['http', 'https'].some((scheme) => origin === `${scheme}://${host.toLowerCase()}`);
}
