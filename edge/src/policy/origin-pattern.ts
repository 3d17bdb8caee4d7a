/**
 * How origins are named in the allow-list and in rules: `[scheme://]host[:port][/path-prefix]`. The
 * host may be `*` (any public origin), `*.example.com` (its subdomains), a name or an address.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { pathReadings } from '@millrace/shared/http/urls/path-readings';

const PATTERN =
  /^(?:(https?):\/\/)?(\*|(?:\*\.)?[^/:*\s[\]]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?(\/\S*)?$/i;

export class OriginPattern {
  readonly #scheme: string | undefined;
  readonly #host: string;
  readonly #port: string | undefined;
  readonly #pathPrefix: string;

  /** @throws MillraceError `bad-option` naming the text that cannot be read */
  constructor(text: string) {
    const match = PATTERN.exec(text.trim());
    if (!match) {
      throw new MillraceError('bad-option', `"${text}" is not an origin such as *.example.com`);
    }
    const [, scheme, host, port, path] = match;
    const wildcard = /^\*\.?/.exec(host as string)?.[0] ?? '';
    let canonical = '';
    if (wildcard !== '*') {
      // The URL parser brings names and addresses into the form that URLs will have.
      try {
        canonical = new URL(`http://${(host as string).slice(wildcard.length)}/`).hostname;
      } catch (cause) {
        throw new MillraceError('bad-option', `"${text}" has no valid host`, { cause });
      }
    }
    this.#scheme = scheme?.toLowerCase();
    this.#host = wildcard + canonical.replace(/\.$/, '');
    this.#port = port === undefined ? undefined : String(Number(port));
    this.#pathPrefix = path ?? '/';
  }

  /** True if a host or address is named literally: it may be at a private address. */
  get literal(): boolean {
    return !this.#host.startsWith('*');
  }

  /**
   * Narrowness, for comparing patterns that match the same URL: by host, then path, then port, then
   * scheme. The narrower of two patterns has the larger figure.
   */
  get narrowness(): number {
    const host = this.literal ? 500 : this.#host.length - 1;
    const path = Math.min(this.#pathPrefix.length, 9999);
    const rest = (this.#port === undefined ? 0 : 2) + (this.#scheme === undefined ? 0 : 1);
    return (host * 10_000 + path) * 4 + rest;
  }

  /** Returns true for a canonical URL that is covered, however its origin reads the path. */
  covers(url: URL): boolean {
    if (!this.#originMatches(url)) return false;
    if (this.#pathPrefix === '/') return true;
    return pathReadings(url.pathname)?.every((path) => this.#pathMatches(path)) ?? false;
  }

  /** Returns true for a canonical URL that some origin might read as a covered one. */
  mayCover(url: URL): boolean {
    if (!this.#originMatches(url)) return false;
    if (this.#pathPrefix === '/') return true;
    return pathReadings(url.pathname)?.some((path) => this.#pathMatches(path)) ?? true;
  }

  #originMatches(url: URL): boolean {
    if (this.#scheme !== undefined && url.protocol !== `${this.#scheme}:`) return false;
    const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
    if (this.#port !== undefined && port !== this.#port) return false;
    if (this.#host === '*') return true;
    if (this.#host.startsWith('*.')) return url.hostname.endsWith(this.#host.slice(1));
    return url.hostname === this.#host;
  }

  #pathMatches(path: string): boolean {
    const prefix = this.#pathPrefix;
    // A prefix ends at a segment: /pub must not let /public through.
    if (prefix.endsWith('/')) return path.startsWith(prefix);
    return path === prefix || path.startsWith(`${prefix}/`);
  }
}
