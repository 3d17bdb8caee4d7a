/** Names of metalinks, as users give them. */

/** True for a URL or path that ends as metalinks do. */
export function looksLikeMetalinkName(given: string): boolean {
  const path = /^https?:/i.test(given) && URL.canParse(given) ? new URL(given).pathname : given;
  return /\.(meta4|metalink)$/i.test(path);
}
