/** Returns the host of an http or https URL, without the port; undefined for other URLs. */
export function hostOf(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' || protocol === 'https:' ? hostname : undefined;
}
