/**
 * Access to the browser's API, in this file only. All other parts are given the functions they
 * need, so that tests can replace them.
 */

/**
 * The API under Chromium's names, which both browsers have; in Firefox all of it returns promises.
 */
export type BrowserApi = typeof chrome;

const known = globalThis as unknown as { browser?: BrowserApi; chrome: BrowserApi };

/** Chromium may define `browser` one day without the whole API in it. */
export const api: BrowserApi = known.browser?.runtime === undefined ? known.chrome : known.browser;

/** Whether this is Firefox: only Firefox has a function for its own version. */
export const isFirefox = 'getBrowserInfo' in api.runtime;
