/**
 * Chromium holds back a file that came without TLS until the user has confirmed it. A file from the
 * extension's own engine reaches the browser as the extension's, and would pass without that
 * question.
 */

/** Loopback, which browsers trust without TLS (W3C Secure Contexts, 3.1). */
const TRUSTED = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])\.?$/;

/** @param urls of a download: that which was asked for, and where redirects have led */
export function isInsecure(urls: readonly string[]): boolean {
  return urls.some((url) => {
    if (!URL.canParse(url)) return false;
    const { protocol, hostname } = new URL(url);
    return protocol === 'http:' && !TRUSTED.test(hostname);
  });
}
