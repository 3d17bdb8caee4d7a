/** Files that the user has sent, and the depots that store them. */

import type { depotEntry } from '../results/edge-results.ts';
import type { Shape } from '../results/named.ts';
import type {
  depotCheck,
  invitation,
  outgoing,
  shareHealth,
  sharePlace,
  shareView,
} from '../results/share-results.ts';

/** Most depots that can be set up. */
export const MAX_DEPOTS = 16;
/** Bytes of one piece of a file that a page copies to the daemon. */
export const OUTGOING_PIECE_BYTES = 8 * 1024 * 1024;
/** Path to which a page sends pieces: the file's id follows; `?at=` is the offset of the piece. */
export const OUTGOING_PATH = '/outgoing/';

export type DepotEntry = Shape<typeof depotEntry>;
export type DepotCheck = Shape<typeof depotCheck>;
export type SharePlace = Shape<typeof sharePlace>;
export type ShareHealth = Shape<typeof shareHealth>;
export type ShareView = Shape<typeof shareView>;
export type Outgoing = Shape<typeof outgoing>;
export type Invitation = Shape<typeof invitation>;
