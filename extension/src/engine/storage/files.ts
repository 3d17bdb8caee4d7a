/** The engine's files, as it sees them. */

import type { JournalHeader } from '@millrace/shared/download/journal/journal';
import type { Partial } from './opfs-store.ts';

export interface EngineFiles {
  /** @throws MillraceError */
  open(id: string, header: JournalHeader): Promise<Partial>;
  /** A `blob:` URL of the data. @throws MillraceError where they do not have that length */
  url(id: string, length: number): Promise<string>;
  revoke(url: string): void;
  remove(id: string): Promise<void>;
  ids(): Promise<readonly string[]>;
}
