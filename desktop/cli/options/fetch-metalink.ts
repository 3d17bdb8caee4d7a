/** Reads metalinks that users name, from files or URLs. */

import { type NamedDocument, readNamedDocument } from './named-document.ts';

const METALINK: NamedDocument = {
  what: 'a metalink',
  accept: 'application/metalink4+xml, application/metalink+xml, */*;q=0.5',
  maxBytes: 8 * 1024 * 1024,
};

/** Reads a metalink. @throws as `readNamedDocument` */
export function readMetalink(given: string, cwd: string, signal: AbortSignal): Promise<Buffer> {
  return readNamedDocument(METALINK, given, cwd, signal);
}
