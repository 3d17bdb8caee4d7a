/** Signs and checks links, by the HMAC of the signed text that `signed-link.ts` makes. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MillraceError } from '../src/base/errors.ts';
import { MAX_LINK_SECRETS } from '../src/base/limits.ts';
import { pathReadings } from '../src/http/urls/path-readings.ts';
import { formatPermit, parsePermit, permitText } from '../src/http/urls/signed-link.ts';
import { fileWords } from './files/file-words.ts';

const MIN_SECRET_CHARS = 16;

/**
 * Reads the secrets of a file: one per line. The first one signs, and all are valid, so that
 * secrets can be rotated.
 *
 * @throws MillraceError `bad-option`
 */
export function readLinkSecrets(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new MillraceError('bad-option', `cannot be read: ${fileWords(error)}`);
  }
  const secrets = text.split(/\r?\n/).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  if (secrets.length === 0 || secrets.some((secret) => secret.length < MIN_SECRET_CHARS)) {
    throw new MillraceError(
      'bad-option',
      `must hold lines of at least ${MIN_SECRET_CHARS} characters`,
    );
  }
  if (secrets.length > MAX_LINK_SECRETS) {
    throw new MillraceError('bad-option', `must hold at most ${MAX_LINK_SECRETS} secrets`);
  }
  return secrets;
}

/**
 * Makes a permit.
 *
 * @param url canonical; with `below`, its path must end with a slash
 * @param expires Unix seconds
 * @param below true: the permit covers everything below the URL
 * @throws MillraceError `bad-url` if nothing can be below the URL
 */
export function signLink(url: URL, expires: number, below: boolean, secret: string): string {
  const prefixChars = below ? url.href.length : undefined;
  const text = permitText(url, { expires, prefixChars });
  if (text === undefined) {
    throw new MillraceError('bad-url', 'a prefix must end with a slash, and have no query');
  }
  return formatPermit({
    expires,
    prefixChars,
    signature: hmac(text, secret).toString('base64url'),
  });
}

/**
 * Makes a permit for another URL of the same file, with the end of one that has been checked.
 *
 * @throws MillraceError `link-invalid` for a text that is no permit
 */
export function signAnew(permit: string, url: URL, secret: string): string {
  const parsed = parsePermit(permit);
  if (parsed === undefined) throw new MillraceError('link-invalid');
  return signLink(url, parsed.expires, false, secret);
}

/** Rights that a valid permit gives beyond the URL that it was checked for. */
export interface LinkGrant {
  /** The permit as it was in the link. */
  readonly permit: string;
  /** Origin of the URL. */
  readonly origin: string;
  /** Returns true if the permit covers a URL, however the origin reads its path. */
  covers(url: URL): boolean;
  /** True for a permit of exactly one URL, whose publisher may choose its redirects. */
  readonly redirects: boolean;
}

/**
 * Checks a permit for a URL.
 *
 * @param url canonical
 * @param now Unix milliseconds
 * @throws MillraceError `link-invalid`, `link-expired`
 */
export function checkLink(
  permit: string,
  url: URL,
  secrets: readonly string[],
  now: number,
): LinkGrant {
  const parsed = parsePermit(permit);
  const text = parsed && permitText(url, parsed);
  if (parsed === undefined || text === undefined) throw new MillraceError('link-invalid');
  const given = Buffer.from(parsed.signature, 'base64url');
  // Compare all secrets in constant time, so that the time taken reveals nothing about them.
  const good = secrets.filter((secret) => {
    const expected = hmac(text, secret);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (good.length === 0) throw new MillraceError('link-invalid');
  if (now >= parsed.expires * 1000) {
    throw new MillraceError('link-expired', `on ${new Date(parsed.expires * 1000).toUTCString()}`);
  }
  const { prefixChars } = parsed;
  const grant: LinkGrant = {
    permit,
    origin: url.origin,
    redirects: prefixChars === undefined,
    covers: (other) =>
      prefixChars === undefined
        ? other.href === url.href
        : isBelow(other, url.href.slice(0, prefixChars)),
  };
  if (!grant.covers(url)) throw new MillraceError('link-invalid', 'the path may lead out of it');
  return grant;
}

function isBelow(url: URL, prefix: string): boolean {
  const { origin, pathname } = new URL(prefix);
  const readings = pathReadings(url.pathname);
  return url.origin === origin && (readings?.every((path) => path.startsWith(pathname)) ?? false);
}

function hmac(text: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}
