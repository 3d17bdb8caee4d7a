/**
 * The name of a depot, drawn once and kept in its folder: the ids that it gives end with it, and
 * other nodes learn from heartbeats where the depot is, whatever its node is called by then.
 */

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEPOT_TAG_BYTES } from '@millrace/shared/cdn/depot/depot-file';
import { replaceFile } from '@millrace/shared/node/files/replace-file';

const TAG = /^[A-Za-z0-9_-]{4}$/;

/**
 * Reads the name of the depot in a folder, or gives it one.
 *
 * @throws Error if it cannot be read or written: with another name, links to the files of the depot
 *   would be unknown at other nodes
 */
export async function readDepotTag(dir: string): Promise<string> {
  const known = await findDepotTag(dir);
  if (known !== undefined) return known;
  const tag = randomBytes(DEPOT_TAG_BYTES).toString('base64url');
  await replaceFile(join(dir, 'tag'), `${tag}\n`);
  return tag;
}

/** The same, but a depot without a name gets none: undefined. @throws Error as `readDepotTag` */
export async function findDepotTag(dir: string): Promise<string | undefined> {
  const path = join(dir, 'tag');
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
  const tag = text.trim();
  if (TAG.test(tag)) return tag;
  throw new Error(`${path} is damaged: it has the last four characters of each of the depot's ids`);
}
