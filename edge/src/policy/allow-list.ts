/**
 * Which origins an edge serves (NSDI 6.4; LOGIN, "Can I use it now?"): deny by default, so that
 * nobody can shift their bandwidth to it or use it to look into the operator's network.
 *
 * An entry is `[scheme://]host[:port][/path-prefix]`. The host may be `*` (any public origin),
 * `*.example.com` (its subdomains), a name or an address. Only an entry that names a host or
 * address literally lets private addresses through.
 */

import { MillraceError } from '@millrace/shared/base/errors';

interface Entry {
  readonly scheme: string | undefined;
  readonly host: string;
  readonly port: string | undefined;
  readonly pathPrefix: string;
}

/** What the list says of a URL. */
export interface Verdict {
  readonly allowed: boolean;
  /** True when the entry names the host literally: it may be at a private address. */
  readonly privateToo: boolean;
}

const ENTRY =
  /^(?:(https?):\/\/)?(\*|(?:\*\.)?[^/:*\s[\]]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?(\/\S*)?$/i;

export class AllowList {
  readonly #entries: readonly Entry[];

  /** @throws MillraceError `bad-option` naming the entry that cannot be read */
  constructor(entries: readonly string[]) {
    this.#entries = entries.map(parseEntry);
  }

  /** True when nothing at all is allowed. */
  get empty(): boolean {
    return this.#entries.length === 0;
  }

  /** Looks a canonical URL up. */
  check(url: URL): Verdict {
    const matching = this.#entries.filter((entry) => matches(entry, url));
    return {
      allowed: matching.length > 0,
      privateToo: matching.some((entry) => !entry.host.startsWith('*')),
    };
  }
}

function parseEntry(text: string): Entry {
  const match = ENTRY.exec(text.trim());
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
  return {
    scheme: scheme?.toLowerCase(),
    host: wildcard + canonical.replace(/\.$/, ''),
    port: port === undefined ? undefined : String(Number(port)),
    pathPrefix: path ?? '/',
  };
}

function matches(entry: Entry, url: URL): boolean {
  if (entry.scheme !== undefined && url.protocol !== `${entry.scheme}:`) return false;
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  if (entry.port !== undefined && port !== entry.port) return false;
  if (!hostMatches(entry.host, url.hostname)) return false;
  const prefix = entry.pathPrefix;
  // A prefix ends at a segment: /pub must not let /public through.
  if (prefix.endsWith('/')) return url.pathname.startsWith(prefix);
  return url.pathname === prefix || url.pathname.startsWith(`${prefix}/`);
}

function hostMatches(pattern: string, hostname: string): boolean {
  if (pattern === '*') return true;
  if (pattern.startsWith('*.')) return hostname.endsWith(pattern.slice(1));
  return hostname === pattern;
}
