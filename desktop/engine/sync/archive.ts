/**
 * All files of a manifest in one tar (WORLDS 4.2: for first deployments). Of an archive nothing is
 * believed but the bytes of files that have the digest in the manifest; the rest is left in it.
 */

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { SyncFile } from '@millrace/shared/sync/manifest';
import { extract, type Header, pack } from 'tar-stream';
import { fileError } from '../file-error.ts';

/** Files that are being written are called so at the end. */
export const PART = '.new';

/**
 * Writes the archive, under its name only when all of it is there.
 *
 * @param root folder that the files are in
 * @throws MillraceError `file-changed` where a file is not what it was; `file-not-writable`,
 *   `disk-full`, `interrupted`
 */
export async function writeArchive(
  root: string,
  files: readonly SyncFile[],
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const part = path + PART;
  const tar = pack();
  try {
    const written = pipeline(tar, createWriteStream(part), { signal });
    // What goes wrong here ends what is written, and is told there.
    const packed = packAll(tar, root, files).catch((error: Error) => tar.destroy(error));
    await Promise.all([written, packed]);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw signal.aborted ? new MillraceError('interrupted') : fileError(error, path);
  }
}

async function packAll(
  tar: ReturnType<typeof pack>,
  root: string,
  files: readonly SyncFile[],
): Promise<void> {
  for (const file of files) {
    const { path, size, mode, modified, sha256 } = file;
    const header = { name: path, size, mode: Number.parseInt(mode, 8), mtime: new Date(modified) };
    const hash = createHash('sha256');
    const entry = tar.entry(header);
    const source = createReadStream(join(root, path));
    await pipeline(
      source,
      async function* (pieces: AsyncIterable<Buffer>) {
        for await (const piece of pieces) {
          hash.update(piece);
          yield piece;
        }
      },
      entry as unknown as NodeJS.WritableStream,
    );
    if (hash.digest('hex') !== sha256) throw new MillraceError('file-changed', path);
  }
  tar.finalize();
}

/**
 * Takes files out of an archive.
 *
 * @param wanted by path; what is not among them is passed over
 * @param stage where a file is written before it is known to be right
 * @param place told of each that is right, and where its bytes are
 * @throws MillraceError `malformed-response` where it is no archive; `file-not-writable`,
 *   `disk-full`, `interrupted`
 */
export async function readArchive(
  path: string,
  wanted: ReadonlyMap<string, SyncFile>,
  stage: string,
  place: (staged: string, file: SyncFile) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const done = new Set<string>();
  const reader = extract();
  const source = createReadStream(path);
  const failed = (error: Error) => reader.destroy(error);
  source.once('error', failed);
  const abort = () => reader.destroy(new MillraceError('interrupted'));
  signal.addEventListener('abort', abort, { once: true });
  source.pipe(reader as unknown as NodeJS.WritableStream);
  try {
    for await (const entry of reader) {
      const header: Header = entry.header;
      const file = wanted.get(header.name);
      const usable = header.type === 'file' && header.size === file?.size;
      if (file !== undefined && usable && !done.has(file.path)) {
        done.add(file.path);
        if (await write(entry as unknown as Readable, stage, file)) await place(stage, file);
      }
      entry.resume();
    }
  } catch (error) {
    if (signal.aborted) throw new MillraceError('interrupted');
    if (error instanceof MillraceError) throw error;
    if ((error as NodeJS.ErrnoException).code !== undefined) throw fileError(error, stage);
    throw new MillraceError('malformed-response', 'the archive is damaged', { cause: error });
  } finally {
    signal.removeEventListener('abort', abort);
    source.destroy();
    await rm(stage, { force: true });
  }
}

/** @returns whether the bytes are right */
async function write(entry: Readable, stage: string, file: SyncFile): Promise<boolean> {
  const hash = createHash('sha256');
  const out = await open(stage, 'w', 0o600);
  try {
    for await (const piece of entry as AsyncIterable<Buffer>) {
      hash.update(piece);
      await out.writeFile(piece);
    }
  } finally {
    await out.close();
  }
  return hash.digest('hex') === file.sha256;
}
