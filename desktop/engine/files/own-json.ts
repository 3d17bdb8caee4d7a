/** Reads files of the state folder that decide what may run, or whose word counts. */

import { readFile, stat } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileWords } from '@millrace/shared/node/files/file-words';
import { tryRead } from '@millrace/shared/schema/read';
import type * as z from 'zod';

/** Bits of a mode that let others write. */
const OTHERS_WRITE = 0o022;

/**
 * Reads a JSON file that only its owner may write to.
 *
 * @returns undefined if there is no such file
 * @throws MillraceError `state-unusable` if the file cannot be used, or others may write to it
 */
export async function readOwnJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let value: unknown;
  try {
    const text = await readFile(path, 'utf8');
    if (process.platform !== 'win32' && ((await stat(path)).mode & OTHERS_WRITE) !== 0) {
      throw new Error('others may write to it');
    }
    value = JSON.parse(text);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new MillraceError('state-unusable', `${path}: ${fileWords(cause)}`, { cause });
  }
  const read = tryRead(schema, value);
  if (read.success) return read.data;
  throw new MillraceError('state-unusable', `${path}: ${zodFault(read.error)}`);
}

/** Returns where a value does not fit its schema, and why. */
export function zodFault({ issues }: z.ZodError): string {
  const [issue] = issues;
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
}
