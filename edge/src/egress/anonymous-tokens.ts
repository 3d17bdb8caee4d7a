/**
 * Tokens that registries of container images give to everybody (Distribution's token authentication):
 * a registry answers 401 and names a server, which gives a token for reading one public image without any
 * log-in. The edge gets tokens for itself; nothing of a client is in them, and no client gets one.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { LRUCache } from 'lru-cache';

/** Images whose tokens are known at a time. */
const MAX_TOKENS = 1000;
/** Longest answer with a token, and longest token, characters. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_TOKEN_CHARS = 8 * 1024;
/** Time for which a token holds if its server does not say, in seconds. */
const DEFAULT_LIFETIME_S = 60;
/** A token is used only while it holds for this long at least. */
const MARGIN_MS: Millis = 10_000;
const PARAMETER = /(?:^|[\s,])(realm|service|scope)="([^"\\]{1,1000})"/gi;
/** Part of a path after the name of an image. */
const PART_OF_IMAGE = /\/(?:manifests|blobs|tags)\/.*$/;

export class AnonymousTokens {
  readonly #tokens = new LRUCache<string, { readonly token: string; readonly until: Millis }>({
    max: MAX_TOKENS,
  });
  readonly #now: () => Millis;

  /** @param now monotonic milliseconds */
  constructor(now: () => Millis) {
    this.#now = now;
  }

  /** Returns the field with the token for a URL; none if no token is known. */
  fieldsFor(url: URL): Readonly<Record<string, string>> {
    const known = this.#tokens.get(imageOf(url));
    if (known === undefined || known.until - MARGIN_MS <= this.#now()) return {};
    return { authorization: `Bearer ${known.token}` };
  }

  /**
   * Gets a token for a URL that was answered with 401.
   *
   * @param realm the only URL that tokens may come from, without a query
   * @param open sends a request to that server
   * @returns false if the challenge is another one, or there is no token for everybody
   * @throws MillraceError if the server cannot be reached
   */
  async get(
    url: URL,
    headers: Headers,
    realm: string,
    open: (url: URL) => Promise<HttpResponse>,
  ): Promise<boolean> {
    const server = tokenUrl(listField(headers, 'www-authenticate') ?? '', realm);
    if (server === undefined) return false;
    const response = await open(server);
    if (response.status !== 200) {
      response.discard();
      return false;
    }
    const answer = readToken(await readText(response));
    if (answer === undefined) return false;
    this.#tokens.set(imageOf(url), {
      token: answer.token,
      until: this.#now() + answer.seconds * 1000,
    });
    return true;
  }
}

function imageOf({ origin, pathname }: URL): string {
  return origin + pathname.replace(PART_OF_IMAGE, '');
}

/** Reads a challenge. @returns where to get a token; undefined: not at the expected server */
function tokenUrl(challenge: string, realm: string): URL | undefined {
  if (!/^bearer\s/i.test(challenge)) return undefined;
  const found = new Map(
    [...challenge.matchAll(PARAMETER)].map(([, name = '', value = '']) => [
      name.toLowerCase(),
      value,
    ]),
  );
  if (found.get('realm') !== realm) return undefined;
  const url = new URL(realm);
  for (const name of ['service', 'scope']) {
    const value = found.get(name);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

/** Reads the answer of a server of tokens; undefined if it has none that can be sent. */
function readToken(text: string): { token: string; seconds: number } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { token, access_token, expires_in } = value as Readonly<Record<string, unknown>>;
  const given = typeof token === 'string' ? token : access_token;
  if (typeof given !== 'string' || given.length > MAX_TOKEN_CHARS) return undefined;
  if (!/^[\w.~+/=-]+$/.test(given)) return undefined;
  const seconds = typeof expires_in === 'number' && expires_in > 0 ? expires_in : undefined;
  return { token: given, seconds: seconds ?? DEFAULT_LIFETIME_S };
}

/** Reads a short body. @returns the text, empty if it is too long */
async function readText(response: HttpResponse): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  await response
    .pipe((piece) => {
      bytes += piece.length;
      if (bytes <= MAX_ANSWER_BYTES) pieces.push(piece);
      else response.discard();
      return true;
    })
    .catch((error: unknown) => {
      if (bytes <= MAX_ANSWER_BYTES) throw error;
    });
  return bytes > MAX_ANSWER_BYTES ? '' : Buffer.concat(pieces).toString();
}
