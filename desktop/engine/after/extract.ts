/**
 * Extracts an archive into a folder of its own beside it. bsdtar or 7-Zip only decode: they write
 * nothing to the disk. Our own reader writes what they print, and refuses paths and links that lead out,
 * special files, and more than the bounds.
 */

import { createReadStream, existsSync } from 'node:fs';
import { lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  archiveStem,
  extractedBound,
  isTar,
  MAX_EXTRACTED_MEMBERS,
} from '@millrace/shared/download/after/archive-name';
import { readEntries } from '../archive/tar-entries.ts';
import { type Feed, unpackEntries } from '../archive/unpack.ts';
import { numberedPath } from '../files/numbered-path.ts';
import { decoded } from './decoder.ts';
import { findProgram } from './programs.ts';
import { decodedBy, readSevenZip } from './seven-zip.ts';

const MAX_NUMBER = 9999;
const READ_BYTES = 1024 * 1024;
/** Also Windows and macOS have bsdtar, as `tar`. */
const BSDTAR = process.platform === 'linux' ? ['bsdtar'] : ['bsdtar', 'tar'];
const SEVEN_ZIP = ['7zz', '7z', '7za'];

/** Name of the note in the temporary folder that says which folder takes which place. */
const NOTE = 'placing';

/**
 * Extracts an archive, unless an earlier run has done so and was ended before it could say so.
 *
 * @param path of the archive, absolute
 * @param gid names the temporary folder, so that a later run finds what a crash has left
 * @returns the new folder; undefined if the name is not that of an archive
 * @throws MillraceError `bad-archive`, also if no program can read it; `interrupted`; those of the disk.
 *   Nothing is left then
 */
export async function extract(
  path: string,
  gid: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const stem = archiveStem(basename(path));
  if (stem === undefined) return undefined;
  const placed = await placedBefore(stageOf(path, gid));
  await removeStage(path, gid);
  if (placed !== undefined) return placed;
  const maxBytes = extractedBound((await lstat(path)).size);
  const feed = await feedOf(path, maxBytes, signal);
  for (let number = 0; number <= MAX_NUMBER; number++) {
    const folder = numberedPath(join(dirname(path), stem), number);
    const made = stageOf(path, gid);
    const stage = async () => {
      await mkdir(made, { mode: 0o700 });
      return made;
    };
    const onPlace = (from: string) => writeFile(join(made, NOTE), JSON.stringify({ from, folder }));
    const bounds = { maxBytes, maxMembers: MAX_EXTRACTED_MEMBERS };
    try {
      const asked = { feed, path, folder, stage, onPlace, overwrites: false, local: true };
      await unpackEntries({ ...asked, ...bounds }, signal);
      return folder;
    } catch (error) {
      if (!isMillraceError(error, 'file-exists')) throw error;
    }
  }
  throw new MillraceError('file-exists', join(dirname(path), stem));
}

/** Returns the folder that an earlier run has made; undefined if it did not come so far. */
async function placedBefore(stage: string): Promise<string | undefined> {
  try {
    const { from, folder } = JSON.parse(await readFile(join(stage, NOTE), 'utf8'));
    return !existsSync(from) && existsSync(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Deletes what an extraction left that a crash has ended. */
export async function removeStage(path: string, gid: string): Promise<void> {
  await rm(stageOf(path, gid), { recursive: true, force: true });
}

function stageOf(path: string, gid: string): string {
  return join(dirname(path), `.${gid}.millrace-unpack`);
}

/** @param maxBytes most bytes that are decoded to check the archive */
async function feedOf(path: string, maxBytes: number, signal: AbortSignal): Promise<Feed> {
  const own = tarReader(path);
  if (own !== undefined) {
    return (take) =>
      readEntries(own(), take, signal).catch((error: NodeJS.ErrnoException) => {
        if (!/^Z/.test(error.code ?? '')) throw error;
        throw new MillraceError('bad-archive', {
          code: 'archive-damaged',
          values: { path, os: error.code ?? '' },
        });
      });
  }
  const bsdtar = await findProgram(BSDTAR);
  if (bsdtar !== undefined) {
    // An archive as an operand with "@": its entries are written as a tar to standard output.
    const args = [bsdtar, '-c', '-f', '-', '--format=pax', `@${path}`];
    return async (take) => {
      await readEntries(decoded(args, signal), take, signal);
      // That way bsdtar does not tell of wrong checksums. It does so when it extracts.
      await drained(decoded([bsdtar, '-x', '-O', '-f', path], signal), maxBytes);
    };
  }
  const sevenZip = await findProgram(SEVEN_ZIP);
  if (sevenZip !== undefined) {
    // It would print the tar as the only file of a compressed one.
    if (isTar(path)) return (take) => readEntries(decodedBy(sevenZip, path, signal), take, signal);
    return (take) => readSevenZip(sevenZip, path, take, signal);
  }
  throw new MillraceError('bad-archive', { code: 'no-unpacker' });
}

/**
 * Returns a reader for tars that need no other program. Unlike bsdtar, Node also compares the checksums
 * of gzip.
 */
function tarReader(path: string): (() => Readable) | undefined {
  const decompress = /\.(?:tar\.gz|tgz)$/i.test(path)
    ? createGunzip
    : /\.(?:tar\.zst|tzst)$/i.test(path)
      ? createZstdDecompress
      : undefined;
  if (decompress === undefined && !/\.tar$/i.test(path)) return undefined;
  return () => {
    const source = createReadStream(path, { highWaterMark: READ_BYTES });
    if (decompress === undefined) return source;
    // Errors of the source reach the reader of the result.
    return pipeline(source, decompress(), () => {});
  };
}

async function drained(source: AsyncIterable<Buffer>, maxBytes: number): Promise<void> {
  let bytes = 0;
  for await (const piece of source) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new MillraceError('bad-archive', {
        code: 'archive-too-large',
        values: { mostBytes: maxBytes },
      });
    }
  }
}
