/** Makes the contents of packages depend on the sources alone: the same sources, the same package. */

import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, lutimesSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../bundle.mjs';

/**
 * Returns the time that files in packages get, seconds since 1970: SOURCE_DATE_EPOCH
 * (reproducible-builds.org), or that of the last commit.
 */
export function sourceTime(env = process.env) {
  const given = Number(env.SOURCE_DATE_EPOCH);
  if (Number.isSafeInteger(given) && given > 0) return given;
  const options = { cwd: root, encoding: 'utf8' };
  const { stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], options);
  const seconds = Number(stdout);
  if (!Number.isSafeInteger(seconds) || seconds <= 0)
    throw new Error('there is no commit to take the time from: set SOURCE_DATE_EPOCH');
  return seconds;
}

/** Compresses a text; the result has no time in it. */
export function gzipped(text) {
  return gzipSync(text, { level: 9 });
}

/**
 * Gives all files of a folder one time, and the permissions of installed files.
 *
 * @param seconds the time, since 1970
 * @returns the paths of the files from the folder, sorted, and their sizes in bytes
 */
export function settle(folder, seconds) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const { mode, size } = lstatSync(path);
    const isProgram = entry.isDirectory() || (mode & 0o100) !== 0;
    chmodSync(path, isProgram ? 0o755 : 0o644);
    if (entry.isFile()) files.push({ path: path.slice(folder.length + 1), size });
  }
  chmodSync(folder, 0o755);
  // Folders last: changing a file's entry would change its folder's time.
  for (const entry of entries) lutimesSync(join(entry.parentPath, entry.name), seconds, seconds);
  lutimesSync(folder, seconds, seconds);
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
