/** Says why no edge is asked for a file. */

import { type Detail, detailText } from '../../base/error-table/particulars.ts';
import type { HomeReason } from './edge-use.ts';

/** Returns a reason as a detail of the table, such as "the link is signed". */
export function homeDetail(reason: HomeReason): Detail {
  return { code: `home-${reason}` };
}

/** Returns the reason as values of a note: in English, and as the code of the detail. */
export function noteReason(detail: Detail): { why: string; reason: string } {
  return { why: detailText(detail), reason: detail.code };
}
