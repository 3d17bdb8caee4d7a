/** Reads the address of a daemon on another machine, as people type it. */

/**
 * Returns the origin, such as https://nas.example.
 *
 * @param text an address with or without `https://`
 * @returns undefined for anything else: another scheme, a path, a log-in
 */
export function remoteOrigin(text: string): string | undefined {
  const url = parsed(text.includes('://') ? text : `https://${text}`);
  const isPlain =
    url?.protocol === 'https:' &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '';
  return isPlain ? url.origin : undefined;
}

/** Parses a URL; Electron may bring a Node without `URL.parse`. */
function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
