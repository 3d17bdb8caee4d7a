/** Decides by the header of the journal whether to keep the bytes that an earlier run left. */

import { canPin, matchVersion } from '../../http/fields/validators.ts';
import type { JournalHeader } from './journal.ts';

/** Identity of the file that is being downloaded; its length may be unknown. */
export type PartialHeader = Omit<JournalHeader, 'length'> & {
  readonly length: number | undefined;
};

export interface EarlierPartial {
  /** Header of the earlier run; undefined: there is no journal. */
  readonly before: JournalHeader | undefined;
  /** Header of this run. */
  readonly header: PartialHeader;
  /**
   * All known URLs of the file. A partial file of another length from any other URL is discarded
   * only with `overwrite`. Undefined: a partial file of another length is always discarded.
   */
  readonly ownUrls: readonly string[] | undefined;
  /** True if bytes that may be of another version are kept until they have been compared. */
  readonly keepUnproven: boolean;
  /** True if the partial download of another file may be discarded for this one. */
  readonly overwrite: boolean;
}

/**
 * `proven`: the bytes are of this version. `unproven`: they may be of this version, and are kept
 * until that is known. `useless`: they are discarded. `foreign`: they belong to another download
 * and must stay.
 */
export type EarlierVerdict = 'proven' | 'unproven' | 'useless' | 'foreign';

/**
 * Judges the bytes of an earlier run. An entity tag proves nothing across URLs: servers make it
 * from length and date.
 */
export function judgeEarlier(partial: EarlierPartial): EarlierVerdict {
  const { before, header, ownUrls, keepUnproven, overwrite } = partial;
  if (before === undefined) return 'useless';
  // True if the earlier run was of the same download, whose new version replaces it.
  const ours = ownUrls === undefined || before.url === header.url || ownUrls.includes(before.url);
  if (before.length !== header.length) return ours || overwrite ? 'useless' : 'foreign';
  const same = matchVersion(before.validators, header.validators) === 'same';
  if (ours && canPin(header.validators) && same) return 'proven';
  return keepUnproven ? 'unproven' : 'useless';
}
