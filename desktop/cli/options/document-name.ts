/** Recognizes documents that describe downloads by the names that users give. */

/** Returns true for a URL or path with the extension of a metalink. */
export function looksLikeMetalinkName(given: string): boolean {
  return /\.(meta4|metalink)$/i.test(pathOf(given));
}

/**
 * Returns true for a URL or path with the extension of an exNode, perhaps followed by a key or a
 * root: a link without its scheme is refused, and not downloaded as a file.
 */
export function looksLikeExnodeName(given: string): boolean {
  return /\.exnode(?:#[kr]\.[^/]*)?$/i.test(pathOf(given));
}

function pathOf(given: string): string {
  return /^https?:/i.test(given) && URL.canParse(given) ? new URL(given).pathname : given;
}
