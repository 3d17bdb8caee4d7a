/** Writes and reads the tar with all files of a manifest (WORLDS 4.2: for first deployments). */

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { SyncFile } from '@millrace/shared/sync/manifest';
import { pack } from 'tar-stream';
import { fileError } from '../files/file-error.ts';
import { readTar, type TarSink } from './tar-reader.ts';

/** Suffix of files that are being written. */
export const PART = '.new';

/**
 * Writes the archive, which gets its name only once it is complete.
 *
 * @param root folder that the files are in
 * @throws MillraceError `file-changed` if a file no longer has its digest; `file-not-writable`,
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
    // A failure while packing destroys the tar stream, and so rejects `written`.
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
    if (hash.digest('hex') !== sha256)
      throw new MillraceError('file-changed', { code: 'path', values: { path } });
  }
  tar.finalize();
}

/**
 * Extracts the wanted files of an archive.
 *
 * @param wanted files by path; others are skipped
 * @param stage path at which a file is written until its digest is checked
 * @param place called for each file whose digest is right, with the path of its bytes
 * @throws MillraceError `malformed-response` if it is not an archive; `file-not-writable`, `disk-full`,
 *   `interrupted`
 */
export async function readArchive(
  path: string,
  wanted: ReadonlyMap<string, SyncFile>,
  stage: string,
  place: (staged: string, file: SyncFile) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const sink: TarSink = {
    async open() {
      const out = await open(stage, 'w', 0o600);
      return { write: (piece) => out.writeFile(piece), close: () => out.close() };
    },
    place: (file) => place(stage, file),
  };
  try {
    await readTar(createReadStream(path), wanted, sink, signal);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw fileError(error, stage);
  } finally {
    await rm(stage, { force: true });
  }
}
