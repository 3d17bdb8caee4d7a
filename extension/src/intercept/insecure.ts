/**
 * Chromium holds back a file that came without TLS until the user confirms it. A file from the
 * extension's own engine reaches the browser as the extension's own, and would pass without that
 * question.
 */

/** Loopback hosts, which browsers trust without TLS (W3C Secure Contexts, 3.1). */
const TRUSTED = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])\.?$/;

/** Returns whether any URL of a download lacks TLS. @param urls its first URL and its redirects */
export function isInsecure(urls: readonly string[]): boolean {
  return urls.some((url) => {
    if (!URL.canParse(url)) return false;
    const { protocol, hostname } = new URL(url);
    return protocol === 'http:' && !TRUSTED.test(hostname);
  });
}
