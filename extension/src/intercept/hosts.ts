/** Lists of hosts that the user has made. */

/** Whether a host is in a list, or is below one that is. */
export function isAmong(host: string, list: readonly string[]): boolean {
  return list.some((entry) => {
    const name = entry.toLowerCase();
    return host === name || host.endsWith(`.${name}`);
  });
}

/** Host of a URL of the web, without port; undefined for others. */
export function hostOf(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' || protocol === 'https:' ? hostname : undefined;
}
