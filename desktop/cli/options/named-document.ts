/** Reads documents that users name, such as metalinks, from files or URLs. */

import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { type DocumentKind, fetchDocument } from '../../engine/stored/fetch-document.ts';

/** A kind of document. */
export interface NamedDocument extends DocumentKind {
  /** Its name in messages, with its article. */
  readonly what: string;
}

/**
 * Reads a document.
 *
 * @param given URL, or path relative to `cwd`
 * @throws MillraceError `bad-option` for a file that cannot be read, `origin-...`,
 *   `wrong-length`
 */
export async function readNamedDocument(
  kind: NamedDocument,
  given: string,
  cwd: string,
  signal: AbortSignal,
): Promise<Buffer> {
  return isLink(given) ? fetchDocument(kind, given, signal) : readDocumentFile(kind, given, cwd);
}

/** Returns true for addresses; everything else is a path. */
export function isLink(given: string): boolean {
  return /^https?:\/\//i.test(given);
}

/** Reads a document from a file. @throws MillraceError `bad-option` if it cannot be read */
export async function readDocumentFile(
  { what, maxBytes }: NamedDocument,
  given: string,
  cwd: string,
): Promise<Buffer> {
  const path = resolve(cwd, given);
  try {
    if ((await stat(path)).size > maxBytes) {
      throw new MillraceError('bad-option', `${given} is too large for ${what}`);
    }
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw new MillraceError('bad-option', `${given} cannot be read`, { cause });
  }
}
