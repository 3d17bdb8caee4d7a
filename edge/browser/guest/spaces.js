/** Spaces that a link for guests names (shared/src/http/urls/guest-link.ts), and the choice of one. */

const SPACE = /^([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{32})\.([A-Za-z0-9_-]{32})$/;
const MAX_SPACES = 20;
const STORE = 'millrace-guest';

/**
 * A space: where it is written, and where it is read once it is complete.
 *
 * @typedef {{ id: string, write: string, read: string }} Space
 */

/** A file as the browser knows it without reading it. @typedef {{ name: string, size: number, lastModified: number }} FileFacts */

/** An upload that has been begun here. @typedef {FileFacts & { id: string, claim: string }} Begun */

/**
 * Reads the spaces of a link.
 *
 * @param {string} href address of the page
 * @returns {Space[]} none if the link is not complete
 */
export function spacesOf(href) {
  const [address = '', fragment = ''] = href.split('#', 2);
  const base = address.replace(/\/guest$/, '');
  if (base === address || !fragment.startsWith('g.')) return [];
  const found = fragment
    .slice(2)
    .split('~')
    .map((one) => SPACE.exec(one));
  if (found.length > MAX_SPACES || found.includes(null)) return [];
  return found.map((one) => {
    const [, id = '', write = '', read = ''] = one ?? [];
    const root = base.replace(/\/depot$/, '');
    return { id, write: `${base}/w/${id}/${write}`, read: `${root}/d/${id}/${read}/file` };
  });
}

/** Makes a claim: a secret by which the depot knows this browser again. */
export function newClaim() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

/**
 * Finds the upload of a file that has been begun here, so that it can be continued.
 *
 * @param {readonly Space[]} spaces
 * @param {FileFacts} file
 * @param {Pick<Storage, 'getItem'>} [storage]
 * @returns {Begun | undefined}
 */
export function begunBefore(spaces, file, storage = globalThis.localStorage) {
  return allBegun(storage).find(
    ({ id, name, size, lastModified }) =>
      spaces.some((space) => space.id === id) &&
      name === file.name &&
      size === file.size &&
      lastModified === file.lastModified,
  );
}

/**
 * Remembers an upload, before its first byte is sent.
 *
 * @param {Begun} begun
 * @param {Pick<Storage, 'getItem' | 'setItem'>} [storage]
 */
export function remember(begun, storage = globalThis.localStorage) {
  try {
    const others = allBegun(storage).filter(({ id }) => id !== begun.id);
    storage.setItem(STORE, JSON.stringify([...others, begun].slice(-MAX_SPACES)));
  } catch {
    // Private windows store nothing: the upload goes on for as long as the page is open.
  }
}

/**
 * @param {Pick<Storage, 'getItem'>} storage
 * @returns {Begun[]}
 */
function allBegun(storage) {
  try {
    const list = JSON.parse(storage.getItem(STORE) ?? '[]');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}
