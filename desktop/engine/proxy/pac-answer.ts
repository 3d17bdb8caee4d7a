/**
 * Makes the question to a proxy auto-configuration script (PAC), and reads its answer. Pure. Scripts
 * are described on MDN, "Proxy Auto-Configuration (PAC) file".
 */

import { type ProxyServer, parseProxy } from './proxy-settings.ts';

/** Most servers of an answer, and its most characters; the rest is left out. */
const MAX_WAYS = 16;
const MAX_CHARS = 4096;

const SCHEMES: Readonly<Record<string, string>> = {
  PROXY: 'http',
  HTTP: 'http',
  HTTPS: 'https',
  SOCKS: 'socks4a',
  SOCKS4: 'socks4a',
  SOCKS5: 'socks5',
};

/**
 * Returns what a script is told of a URL: no user name, password or fragment, and of https: URLs the
 * host alone, as in browsers: a script may come from the network, and paths may be secret.
 */
export function toldUrl(url: URL): string {
  if (url.protocol === 'https:') return `https://${url.host}/`;
  return `${url.protocol}//${url.host}${url.pathname}${url.search}`;
}

/**
 * Reads an answer such as `PROXY a:8080; SOCKS5 b:1080; DIRECT`.
 *
 * @returns servers, best first; undefined: without a proxy. Servers that cannot be used are left
 *   out. An empty answer means no proxy
 * @throws Error for an answer that names servers, of which none can be used
 */
export function readPacAnswer(answer: unknown): readonly (ProxyServer | undefined)[] {
  if (typeof answer !== 'string' || answer.trim() === '') return [undefined];
  const ways: (ProxyServer | undefined)[] = [];
  for (const part of answer.slice(0, MAX_CHARS).split(';').slice(0, MAX_WAYS)) {
    const [kind = '', address = ''] = part.trim().split(/\s+/);
    const scheme = SCHEMES[kind.toUpperCase()];
    if (kind.toUpperCase() === 'DIRECT') ways.push(undefined);
    else if (scheme !== undefined && address !== '') {
      try {
        ways.push(parseProxy(`${scheme}://${address}`));
      } catch {
        // A server that cannot be used; the next one may be.
      }
    }
  }
  if (ways.length === 0) throw new Error('it names no proxy that can be used');
  return ways;
}
