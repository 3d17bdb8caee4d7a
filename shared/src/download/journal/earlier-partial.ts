/** Decides about the bytes that an earlier run has left, by the header of their journal. */

import { canPin, matchVersion } from '../../http/fields/validators.ts';
import type { JournalHeader } from './journal.ts';

/** Identity of the file that is being downloaded; undefined length: not known. */
export type PartialHeader = Omit<JournalHeader, 'length'> & {
  readonly length: number | undefined;
};

export interface EarlierPartial {
  /** Of the earlier run; undefined: there is no journal. */
  readonly before: JournalHeader | undefined;
  /** Of this run. */
  readonly header: PartialHeader;
  /**
   * URLs of the file, where more than one is known. Bytes from any other URL are given up only on
   * the user's order. Undefined: they are given up.
   */
  readonly ownUrls: readonly string[] | undefined;
  /** Whether bytes are kept that may be of another version, until they have been compared. */
  readonly keepUnproven: boolean;
  /** Whether a download of another file may be given up for this one. */
  readonly overwrite: boolean;
}

/**
 * `proven`: they are of this version. `unproven`: they may be, and stay until that is known.
 * `useless`: they are discarded. `foreign`: they belong to another download and must not be
 * discarded.
 */
export type EarlierVerdict = 'proven' | 'unproven' | 'useless' | 'foreign';

/** Files at different URLs may have a tag in common, as servers make it from length and date. */
export function judgeEarlier(partial: EarlierPartial): EarlierVerdict {
  const { before, header, ownUrls, keepUnproven, overwrite } = partial;
  if (before === undefined) return 'useless';
  // True if the earlier run was about the same download: a new version takes its place.
  const ours = ownUrls === undefined || before.url === header.url || ownUrls.includes(before.url);
  if (before.length !== header.length) return ours || overwrite ? 'useless' : 'foreign';
  const same = matchVersion(before.validators, header.validators) === 'same';
  if (ours && canPin(header.validators) && same) return 'proven';
  return keepUnproven ? 'unproven' : 'useless';
}
