/**
 * The table of details: what an error of the table says of one occurrence, by code and in English, a
 * clause without a full stop. Interfaces have the same clauses in the reader's language. Values
 * whose name ends in `Bytes` are sizes; other numbers are written as they are.
 */

import { AFTER_DETAILS } from './after-details.ts';
import { FILE_DETAILS } from './file-details.ts';
import { NETWORK_DETAILS } from './network-details.ts';
import { REQUEST_DETAILS } from './request-details.ts';

export const DETAILS = {
  ...NETWORK_DETAILS,
  ...FILE_DETAILS,
  ...REQUEST_DETAILS,
  ...AFTER_DETAILS,
  /** Words of another program or of a server, which nobody translates. */
  quoted: '{text}',
  at: '{place}: {why}',
} as const;

export type DetailCode = keyof typeof DETAILS;
