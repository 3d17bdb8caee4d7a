/** A file to send, and how. */

import type { ChosenFile } from './outgoing.ts';

export interface NewShare {
  readonly file: ChosenFile;
  readonly name?: string | undefined;
  readonly seconds: number;
  /** Base URLs; default: all depots. */
  readonly depots?: readonly string[] | undefined;
  /** If more than there are depots, the upload finds others in their networks. */
  readonly copies?: number | undefined;
  /** True: depots get its ciphertext only. */
  readonly encrypt?: boolean | undefined;
}
