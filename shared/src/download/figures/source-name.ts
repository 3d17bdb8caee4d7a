/** Names the sources of a download for people. */

/** Longest path in a name, in characters: its end tells more than its beginning. */
const MAX_PATH = 60;

/**
 * Returns the name of a source that is asked for a URL: its host, with the path where another source
 * has the same host. The query, which may be a secret, is left out.
 *
 * @param others URLs of all sources, this one included or not
 */
export function sourceName(url: string, others: Iterable<string>): string {
  const { host, pathname } = new URL(url);
  for (const other of others) {
    if (other === url || new URL(other).host !== host) continue;
    const path = pathname.length > MAX_PATH ? `/…${pathname.slice(1 - MAX_PATH)}` : pathname;
    return `${host}${path}`;
  }
  return host;
}
