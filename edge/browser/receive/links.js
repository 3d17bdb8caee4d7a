/** Places that the page knows by its own address, without a description. */

const FILE = /\/-\/[df](\/[\w-]{16}\/[\w-]{32}\/)[^/]*$/;

/** Returns the place of the description. @param {string} link to it, or to the file that it describes */
export function descriptionAt(link) {
  const place = withoutKey(link);
  return place.includes('/-/f/') ? place.replace(FILE, '/-/d$1encrypted.exnode') : place;
}

/**
 * Returns the place at which the edge that serves the page puts the whole ciphertext together: it
 * solves lost shards, and reads depots of its network that the browser cannot reach.
 *
 * @param {string} link to the description, or to the file that it describes
 * @returns {string | undefined} undefined: the page is at another address
 */
export function wholeAt(link) {
  const place = withoutKey(link);
  return FILE.test(place) ? place.replace(FILE, '/-/f$1encrypted') : undefined;
}

/** @param {string} link */
function withoutKey(link) {
  return link.replace(/#.*/, '');
}
