/** An invitation as it is kept: space in a depot that a guest may fill. Its owner holds all links. */

import type { Millis } from '@millrace/shared/base/clock';
import type { KeptShare } from '../store/share-store.ts';

export interface NewInvitation {
  /** Base URL of its depot. */
  readonly depot: string;
  /** Most bytes of the guest's file. */
  readonly bytes: number;
  readonly seconds: number;
  /** For the guest. */
  readonly link: string;
  /** For the owner: it leads to the file. */
  readonly file: string;
  /** For the owner: it ends the invitation. */
  readonly manage: string;
  /** Unix milliseconds. */
  readonly expires: Millis;
}

/** Makes the record of an invitation. @param now Unix milliseconds */
export function keptInvitation(
  id: string,
  { depot, bytes, seconds, link, file, manage, expires }: NewInvitation,
  now: Millis,
): KeptShare {
  return {
    ...{ id, state: 'shared', bytes, seconds, link, expires, createdAt: now },
    ...{ path: '', isCopy: false, name: 'file', copies: 1, wholeFile: true },
    ...{ depots: [depot], places: [{ depot, bytes: 0, expires }] },
    invitation: { file, manage },
  };
}
