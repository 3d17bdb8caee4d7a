/** Lists of hosts that a user has made. */

/**
 * Whether a host is in a list, or is a subdomain of a listed one.
 *
 * @param host as in a URL: lower case, without port
 * @param list names, in either case
 */
export function isAmong(host: string, list: readonly string[]): boolean {
  return list.some((entry) => {
    const name = entry.toLowerCase();
    return host === name || host.endsWith(`.${name}`);
  });
}
