/**
 * The browser's own interface, in the one place that reaches for it. All other parts get the
 * functions they need, so that tests can replace them.
 */

/** The API that both browsers have under Chromium's names; Firefox has promises everywhere. */
export type BrowserApi = typeof chrome;

const known = globalThis as unknown as { browser?: BrowserApi; chrome: BrowserApi };

/** In Chromium `browser` may be there one day without being the whole of it. */
export const api: BrowserApi = known.browser?.runtime === undefined ? known.chrome : known.browser;

/** Only Firefox can tell its own version. */
export const isFirefox = 'getBrowserInfo' in api.runtime;
