/** Tells from the host's arguments whether our extension has started the host. */

import {
  CHROMIUM_EXTENSION_ID,
  FIREFOX_EXTENSION_ID,
} from '@millrace/shared/bridge/native/native-api';

/** Origin of our extension in Chromium-based browsers. */
export const CHROMIUM_ORIGIN = `chrome-extension://${CHROMIUM_EXTENSION_ID}/`;

/**
 * Returns true if our extension has started the host.
 *
 * @param args Chromium-based browsers: the extension's origin, and more on Windows; Firefox: the
 * path of the manifest, and the extension's id
 */
export function isOurExtension(args: readonly string[]): boolean {
  return args[0] === CHROMIUM_ORIGIN || args[1] === FIREFOX_EXTENSION_ID;
}
