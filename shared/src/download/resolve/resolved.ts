/**
 * Downloads whose links a resolver has found: a program of the user, which gets a URL and answers
 * with links to the file. Links expire; this file decides when the resolver is asked anew.
 */

import type { Millis } from '../../base/clock.ts';
import type { Digest } from '../../base/digest.ts';
import { isPublicHost } from '../../http/urls/public-host.ts';
import { MAX_URLS } from '../request/request.ts';

/** Answer of a resolver about one URL. */
export interface ResolverAnswer {
  /** Links to one and the same file, best first. */
  readonly urls: readonly string[];
  /** Request fields for the origin of the first link, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Name of the file, safe. */
  readonly name?: string | undefined;
  /** Bytes of the file. */
  readonly length?: number | undefined;
  readonly digests: readonly Digest[];
  /** End of the links, Unix milliseconds: later they do not work. */
  readonly expires?: Millis | undefined;
  /** Words for the user, such as which quality was chosen. */
  readonly note?: string | undefined;
}

/** How the links of a download were found. */
export interface Resolved {
  /** Name of the resolver. */
  readonly by: string;
  /** URL that the resolver got. */
  readonly url: string;
  /** The links: the next answer takes their place. */
  readonly urls: readonly string[];
  /** End of the links, Unix milliseconds: later they do not work. */
  readonly expires?: Millis | undefined;
  /** True: the links have expired, so the resolver is asked before the next run. */
  readonly stale?: boolean | undefined;
  /** Times that the resolver was asked again since bytes came the last time. */
  readonly asked?: number | undefined;
  /** Bytes that were stored when it was last asked again. */
  readonly storedBytes?: number | undefined;
}

/** Longest time that a resolver may be given, and what it has by default, in seconds. */
export const MAX_RESOLVER_SECONDS = 600;
export const RESOLVER_SECONDS = 30;
/** Most resolvers, and most patterns of one. */
export const MAX_RESOLVERS = 32;
export const MAX_PATTERNS = 64;
/** Most links of an answer. */
export const MAX_RESOLVED_URLS = 16;
/** Times that a resolver is asked again for links that bring no byte. */
const MAX_ASKED = 2;

/** Returns true if the resolver has to be asked before the links are used. */
export function isStale({ stale, expires }: Resolved, now: Millis): boolean {
  return stale === true || (expires !== undefined && expires <= now);
}

/**
 * Decides what follows when the links of a download have expired.
 *
 * @param storedBytes bytes that are stored now
 * @returns `again`: ask now; the state is kept in both cases, so that a later attempt begins with
 *   the resolver
 */
export function onExpired(
  resolved: Resolved,
  storedBytes: number,
): { readonly again: boolean; readonly resolved: Resolved } {
  const hasGrown = storedBytes > (resolved.storedBytes ?? 0);
  const asked = hasGrown ? 0 : (resolved.asked ?? 0);
  const again = asked < MAX_ASKED;
  // A user who tries again later gets as many attempts as before.
  return {
    again,
    resolved: { ...resolved, stale: true, asked: again ? asked + 1 : 0, storedBytes },
  };
}

/**
 * Returns why an answer must not be used; undefined if nothing speaks against it. A page can say
 * anything, so it leads neither into the user's network nor from https: to http:.
 *
 * @param page URL that the resolver got
 */
export function answerProblem(page: string, answer: ResolverAnswer): string | undefined {
  const asked = new URL(page);
  const urls = answer.urls.map((url) => new URL(url));
  const inside = urls.find(({ hostname }) => !isPublicHost(hostname));
  if (inside !== undefined && isPublicHost(asked.hostname)) {
    return `it leads to ${inside.host}, which is in your own network`;
  }
  // Further links are judged by the first one when they are used.
  const [first] = urls;
  const isPlain = first?.protocol !== 'https:' && asked.protocol === 'https:';
  if (isPlain && answer.digests.length === 0) {
    return `it leads to ${first?.host} without TLS, and no digest would show that bytes were changed on the way`;
  }
  return undefined;
}

/** Members of a download that an answer changes. */
interface Asked {
  readonly urls: readonly string[];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly login?: { readonly user: string; readonly password: string } | undefined;
  readonly file?: string | undefined;
  readonly length?: number | undefined;
  readonly digests?: readonly Digest[] | undefined;
}

/** Members of a download whose links were found. */
export interface Answered extends Asked {
  readonly listed?: readonly string[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Fields that no server can use to log a user in. */
const IMPERSONAL: ReadonlySet<string> = new Set(['user-agent', 'accept-language']);

/**
 * Returns the members of a download that an answer changes. The user's own fields and log-in are
 * for the page's origin, so other origins do not get them. The first URL was the page.
 */
export function answered(asked: Asked, answer: ResolverAnswer): Answered {
  const [page = '', ...mirrors] = asked.urls;
  const [first = ''] = answer.urls;
  const isOrigin = new URL(page).origin === new URL(first).origin;
  const fields = Object.entries(asked.headers ?? {}).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  const own = fields.filter(([name]) => isOrigin || IMPERSONAL.has(name));
  const digests = asked.digests ?? [];
  const known = new Set(digests.map(({ algorithm }) => algorithm));
  return {
    urls: [...new Set([...answer.urls, ...mirrors])].slice(0, MAX_URLS),
    // Links that a page of the internet names may not lead into the user's network.
    listed: isPublicHost(new URL(page).hostname) ? answer.urls : undefined,
    headers: { ...answer.headers, ...Object.fromEntries(own) },
    login: isOrigin ? asked.login : undefined,
    file: asked.file ?? answer.name,
    length: asked.length ?? answer.length,
    digests: [...digests, ...answer.digests.filter(({ algorithm }) => !known.has(algorithm))],
  };
}

/**
 * Returns the members of a download for the next answer about its page. The earlier links go; those
 * that the user has added stay.
 */
export function answeredAnew(before: Asked, resolved: Resolved, answer: ResolverAnswer): Answered {
  const [old = ''] = before.urls;
  const [first = ''] = answer.urls;
  const isOrigin = new URL(old).origin === new URL(first).origin;
  const own = Object.entries(before.headers ?? {}).filter(
    ([name]) => isOrigin || IMPERSONAL.has(name),
  );
  const others = before.urls.filter((url) => !resolved.urls.includes(url));
  const page = answered({ ...before, urls: [resolved.url, ...others], headers: {} }, answer);
  return {
    ...page,
    // The earlier answer's fields are among the old ones.
    headers: { ...Object.fromEntries(own), ...answer.headers },
    login: isOrigin ? before.login : undefined,
  };
}

/**
 * Returns why an answer is about another file than the earlier ones were; undefined if its own words do not
 * say so.
 */
export function contradiction(
  before: Pick<Asked, 'length' | 'digests'>,
  { length, digests }: ResolverAnswer,
): string | undefined {
  if (before.length !== undefined && length !== undefined && before.length !== length) {
    return `it has ${length} bytes instead of ${before.length}`;
  }
  const other = before.digests?.find(({ algorithm, hex }) =>
    digests.some((one) => one.algorithm === algorithm && one.hex !== hex),
  );
  return other === undefined ? undefined : `its ${other.algorithm} is another one`;
}

/** Variables that a resolver gets: none in which programs keep tokens, cookies or passwords. */
const PASSED =
  /^(?:PATH|PATHEXT|HOME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|XDG_(?:CACHE|CONFIG|DATA)_HOME|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA)$/i;
/** Variables that name proxies. Without them a resolver would go around the user's proxy. */
const PROXIES = /^(?:https?_proxy|all_proxy|no_proxy)$/i;

/** Returns the variables of an environment that a resolver gets. Proxies with a log-in are left out. */
export function resolverEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept = Object.entries(env).filter(
    ([name, value]) =>
      value !== undefined && (PASSED.test(name) || (PROXIES.test(name) && !value.includes('@'))),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}
