/** Interface of the engine to its files. */

import type { JournalHeader } from '@millrace/shared/download/journal/journal';
import type { Partial } from './opfs-store.ts';

export interface EngineFiles {
  /** Opens or creates the files of a download. @throws MillraceError */
  open(id: string, header: JournalHeader): Promise<Partial>;
  /**
   * Returns a `blob:` URL of the data.
   *
   * @throws MillraceError if the data do not have that length
   */
  url(id: string, length: number): Promise<string>;
  revoke(url: string): void;
  remove(id: string): Promise<void>;
  ids(): Promise<readonly string[]>;
}
