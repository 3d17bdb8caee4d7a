/**
 * Capabilities of allocations, which are URLs of a depot: whoever has one may read, write or manage
 * the allocation (LOCI 2.1). Each holds the allocation's id and one of three independent secrets.
 * The id comes first, so that it can be shown, logged and purged by without a secret.
 */

/** Use that a capability allows. */
export type Capability = 'read' | 'write' | 'manage';

/** Parts of a capability's URL. */
export interface DepotLink {
  readonly kind: Capability;
  readonly id: string;
  readonly secret: string;
}

/** The file that the exNode in an allocation describes, by the allocation's capability to read. */
export interface FileLink {
  readonly kind: 'file';
  readonly id: string;
  readonly secret: string;
}

/** A request target that is for the depot. */
export type DepotTarget =
  /** A capability; the query may hold options of managing. */
  | (DepotLink & { readonly query?: string })
  | FileLink
  /** The pull of an upload, by its capability to write. */
  | { readonly kind: 'pull'; readonly id: string; readonly secret: string }
  /** A new allocation; the query may hold options. */
  | { readonly kind: 'create'; readonly query: string }
  /** A new allocation with its content. `name` is percent-encoded as it came. */
  | { readonly kind: 'put'; readonly name: string; readonly query: string };

/** Path that allocations are made at. */
export const DEPOT_PATH = '/-/depot';
/** Path at which an owner asks whether the depot could pull from a URL. */
export const PROSPECT_PATH = '/-/depot/source';
const READ_PATH = '/-/d/';
const FILE_PATH = '/-/f/';
/** Name of the description of an encrypted file, in a depot and in its link: it tells nothing else. */
export const ENCRYPTED_DOCUMENT = 'encrypted.exnode';

/** Random bytes of an id and of a secret; both are written in base64url. */
export const ID_BYTES = 12;
export const SECRET_BYTES = 24;
const ID = '([A-Za-z0-9_-]{16})';
const SECRET = '([A-Za-z0-9_-]{32})';
const READ = new RegExp(`^/-/([df])/${ID}/${SECRET}(?:/[^/?]*)?$`);
const OTHER = new RegExp(`^/-/depot/([wm])/${ID}/${SECRET}$`);
const PULL = new RegExp(`^/-/depot/w/${ID}/${SECRET}/pull$`);
const PUT = /^\/-\/depot\/([^/]+)$/;
const ID_ALONE = new RegExp(`^${ID}$`);
const ID_IN_LINK = new RegExp(`/-/(?:[df]|depot/[wm])/${ID}/`);
/** A slash, also percent-encoded, as in prefixed URLs that are encoded as a whole: even twice. */
const SLASH = '(?:/|%(?:25)*2f)';
/** An id and everything behind it, wherever in a text. */
const HIDDEN = new RegExp(
  `(${SLASH}-${SLASH}(?:[df]|depot${SLASH}[wm])${SLASH}[a-z0-9_-]{16}${SLASH})\\S*`,
  'gi',
);

/** Returns true for request targets of the depot, well-formed or not. */
export function isDepotTarget(target: string | undefined): boolean {
  if (target === undefined || !/^\/-\/[df]/.test(target)) return false;
  const begins = [READ_PATH, FILE_PATH, `${DEPOT_PATH}/`];
  if (begins.some((path) => target.startsWith(path))) return true;
  return target === DEPOT_PATH || target.startsWith(`${DEPOT_PATH}?`);
}

/** Reads a request target. @returns undefined if the depot has nothing there */
export function parseDepotTarget(target: string): DepotTarget | undefined {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);
  const read = READ.exec(path);
  if (read !== null) {
    const kind = read[1] === 'd' ? 'read' : 'file';
    return { kind, id: read[2] as string, secret: read[3] as string };
  }
  const other = OTHER.exec(path);
  if (other !== null) {
    const kind = other[1] === 'w' ? 'write' : 'manage';
    const options = query === '' ? {} : { query };
    return { kind, id: other[2] as string, secret: other[3] as string, ...options };
  }
  const pull = PULL.exec(path);
  if (pull !== null) return { kind: 'pull', id: pull[1] as string, secret: pull[2] as string };
  if (path === DEPOT_PATH) return { kind: 'create', query };
  const put = PUT.exec(path);
  return put === null ? undefined : { kind: 'put', name: put[1] as string, query };
}

/**
 * Writes a capability as the path of its URL.
 *
 * @param name of the file, for programs that save it under the last part of its URL; has no meaning
 *   for the depot, and only reading has one
 */
export function formatDepotLink({ kind, id, secret }: DepotLink | FileLink, name = 'file'): string {
  if (kind === 'file') return `${FILE_PATH}${id}/${secret}/${encodeURIComponent(name)}`;
  if (kind !== 'read') return `${DEPOT_PATH}/${kind === 'write' ? 'w' : 'm'}/${id}/${secret}`;
  return `${READ_PATH}${id}/${secret}/${encodeURIComponent(name)}`;
}

/**
 * Returns the link to the file that an exNode describes.
 *
 * @param document link to the exNode in its depot
 * @param name of the file, for programs that save it under the last part of its URL
 * @returns undefined for links that are not a depot's
 */
export function fileLinkOf(document: string, name: string): string | undefined {
  const { origin, pathname } = new URL(document);
  const target = parseDepotTarget(pathname);
  if (target?.kind !== 'read') return undefined;
  const { id, secret } = target;
  return origin + formatDepotLink({ kind: 'file', id, secret }, name);
}

/**
 * Returns the link to the exNode of a file, of the link to the file; a fragment stays.
 *
 * @returns undefined for all other texts
 */
export function documentLinkOf(link: string): string | undefined {
  if (!/^https?:/i.test(link) || !URL.canParse(link)) return undefined;
  const { origin, pathname, hash } = new URL(link);
  const target = parseDepotTarget(pathname);
  if (target?.kind !== 'file') return undefined;
  const { id, secret } = target;
  return origin + formatDepotLink({ kind: 'read', id, secret }, 'file.exnode') + hash;
}

/** Reads the id of an allocation: alone, or in one of its links. @returns undefined if there is none */
export function allocationId(text: string): string | undefined {
  return ID_ALONE.exec(text)?.[1] ?? ID_IN_LINK.exec(text)?.[1];
}

/** Returns true for texts, such as URLs, that hold a capability. */
export function holdsSecret(text: string): boolean {
  return hideSecrets(text) !== text;
}

/** Replaces the secrets of all capabilities in a text, such as a URL, for logs and figures. */
export function hideSecrets(text: string): string {
  return text.replace(HIDDEN, '$1…');
}
