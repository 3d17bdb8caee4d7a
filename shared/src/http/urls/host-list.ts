/** Looks up hosts in lists. */

/**
 * Returns true if a host is in a list or is a subdomain of a listed host.
 *
 * @param host as in a URL: lower case, without port
 * @param list host names, in any case
 */
export function isAmong(host: string, list: readonly string[]): boolean {
  return list.some((entry) => {
    const name = entry.toLowerCase();
    return host === name || host.endsWith(`.${name}`);
  });
}
