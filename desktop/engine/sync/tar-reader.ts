/**
 * Reads the wanted files of a tar. Nothing in an archive is trusted, except the bytes of files
 * whose digest is in the manifest.
 */

import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { SyncFile } from '@millrace/shared/sync/manifest';
import { readEntries } from '../archive/tar-entries.ts';

/** Receives the bytes of a file before its digest is checked. */
export interface TarSink {
  open(file: SyncFile): Promise<TarSinkFile>;
  /** Called once the last opened file is complete and its digest is right. */
  place(file: SyncFile): Promise<void>;
}

interface TarSinkFile {
  write(piece: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens each wanted file once, writes its bytes, and places it if its digest is right. Skips
 * entries that are not wanted or have another size.
 *
 * @param source the archive's bytes; destroyed at the end
 * @param wanted files by path
 * @throws MillraceError `malformed-response` if the bytes are not an archive; `interrupted`
 * @throws errors of the sink or the source that have a `code`
 */
export async function readTar(
  source: Readable,
  wanted: ReadonlyMap<string, SyncFile>,
  sink: TarSink,
  signal: AbortSignal,
): Promise<void> {
  const done = new Set<string>();
  await readEntries(
    source,
    async ({ name, type, size }, content) => {
      const file = wanted.get(name);
      if (file === undefined || type !== 'file' || size !== file.size || done.has(file.path))
        return;
      done.add(file.path);
      if (await copy(content, file, sink)) await sink.place(file);
    },
    signal,
  );
}

/** @returns whether the digest is right */
async function copy(entry: AsyncIterable<Buffer>, file: SyncFile, sink: TarSink): Promise<boolean> {
  const hash = createHash('sha256');
  const out = await sink.open(file);
  try {
    for await (const piece of entry) {
      hash.update(piece);
      await out.write(piece);
    }
  } finally {
    await out.close();
  }
  return hash.digest('hex') === file.sha256;
}
