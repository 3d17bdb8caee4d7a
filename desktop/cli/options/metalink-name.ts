/** Recognizes metalinks by the names that users give. */

/** Returns true for a URL or path with the extension of a metalink. */
export function looksLikeMetalinkName(given: string): boolean {
  const path = /^https?:/i.test(given) && URL.canParse(given) ? new URL(given).pathname : given;
  return /\.(meta4|metalink)$/i.test(path);
}
