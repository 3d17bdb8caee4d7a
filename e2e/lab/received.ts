/** Measures the files that a download has left in its folder. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Returns the SHA-256 of a file, in hexadecimal digits. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}

/** Counts the bytes of files on disk, up to `most`: incomplete files have holes. */
export async function storedBytes(dir: string, most: number): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(dir)) bytes += (await stat(join(dir, name))).blocks * 512;
  return Math.min(bytes, most);
}
