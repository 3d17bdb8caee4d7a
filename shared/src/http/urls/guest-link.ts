/**
 * Links for guests: people without a token, whom an owner lets upload to a depot. The owner reserves
 * a space for each upload, and the link names the spaces in its fragment, which no program sends to a
 * server. A space belongs to the first who claims it, so two guests never write into one file.
 */

import { MillraceError } from '../../base/errors.ts';
import { DEPOT_PATH, type DepotLink, formatDepotLink, parseDepotTarget } from './depot-link.ts';
import { parseOriginUrl } from './prefixed-url.ts';

/** Path of the page for guests. */
export const GUEST_PATH = `${DEPOT_PATH}/guest`;
/** Field by which a guest shows that the space is his own: a secret that he has made. */
export const CLAIM_FIELD = 'upload-claim';
/** Most uploads that one link permits. */
export const MAX_GUEST_SPACES = 20;
const CLAIM = /^[A-Za-z0-9_-]{22,64}$/;
const SPACE = /^([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{32})\.([A-Za-z0-9_-]{32})$/;

/** A space for one upload: URLs by which it is written, and read by everybody who has the link. */
export interface GuestSpace {
  readonly write: string;
  readonly read: string;
}

/** Returns true for the text of a claim. */
export function isClaim(text: string | undefined): text is string {
  return text !== undefined && CLAIM.test(text);
}

/**
 * Writes the link for a guest.
 *
 * @param spaces at least one; all of one depot
 */
export function formatGuestLink(spaces: readonly GuestSpace[]): string {
  const [first] = spaces;
  const base = new URL(first?.write ?? '');
  const texts = spaces.map(({ write, read }) => {
    const [to, from] = [linkOf(write), linkOf(read)];
    return `${to.id}.${to.secret}.${from.secret}`;
  });
  const { pathname, origin } = base;
  const prefix = pathname.slice(0, pathname.indexOf(`${DEPOT_PATH}/`));
  return `${origin}${prefix}${GUEST_PATH}#g.${texts.join('~')}`;
}

/**
 * Reads a link for guests.
 *
 * @throws MillraceError `bad-option` for other links, and for incomplete ones
 */
export function parseGuestLink(text: string): GuestSpace[] {
  const [, address = '', spaces] = /^([^#]*)#g\.(.*)$/.exec(text) ?? [];
  const url = address === '' ? undefined : parseOriginUrl(address);
  const found = (spaces ?? '').split('~').map((one) => SPACE.exec(one));
  const isWhole = url?.pathname.endsWith(GUEST_PATH) === true && found.length <= MAX_GUEST_SPACES;
  if (!isWhole) throw new MillraceError('bad-option', 'that is no link for guests');
  const base = url.href.slice(0, url.href.lastIndexOf(GUEST_PATH));
  return found.map((one) => {
    if (one === null) throw new MillraceError('bad-option', 'the link for guests is not complete');
    const [, id = '', write = '', read = ''] = one;
    return {
      write: base + formatDepotLink({ kind: 'write', id, secret: write }),
      read: base + formatDepotLink({ kind: 'read', id, secret: read }),
    };
  });
}

/** Reads a capability, also behind a prefix. @throws MillraceError `bad-option` */
function linkOf(text: string): DepotLink {
  const { pathname } = new URL(text);
  const target = parseDepotTarget(pathname.slice(pathname.lastIndexOf('/-/')));
  if (target !== undefined && 'secret' in target) {
    if (target.kind !== 'pull' && target.kind !== 'file') return target;
  }
  throw new MillraceError('bad-option', 'that is no link of a depot');
}
