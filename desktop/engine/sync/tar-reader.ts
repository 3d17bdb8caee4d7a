/**
 * Reads the wanted files of a tar. Nothing in an archive is trusted, except the bytes of files
 * whose digest is in the manifest.
 */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { MillraceError } from '@millrace/shared/base/errors';
import type { SyncFile } from '@millrace/shared/sync/manifest';
import { extract } from 'tar-stream';

/**
 * Longest headers before one entry, in bytes. The library holds a long header, such as the pax
 * header of a long path, in memory as a whole; paths of a manifest need a few thousand bytes.
 */
export const MAX_HEADER_BYTES = 2 ** 20;

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
  const reader = extract();
  const bounded = new BoundedHeaders(source);
  const pieces = Readable.from(bounded.pieces(), { objectMode: false });
  pieces.once('error', (error) => reader.destroy(error));
  const abort = () => reader.destroy(new MillraceError('interrupted'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    pieces.pipe(reader as unknown as NodeJS.WritableStream);
    for await (const entry of reader) {
      const { name, type, size = 0 } = entry.header;
      // The library accepts sizes that are not a number of bytes, and then waits for ever.
      if (!Number.isSafeInteger(size) || size < 0) throw new Error(`an entry of ${size} bytes`);
      bounded.entry(size);
      const file = wanted.get(name);
      if (file !== undefined && type === 'file' && size === file.size && !done.has(file.path)) {
        done.add(file.path);
        const right = await copy(entry as unknown as AsyncIterable<Buffer>, file, sink);
        if (right) await sink.place(file);
      }
      entry.resume();
    }
  } catch (error) {
    if (signal.aborted) throw new MillraceError('interrupted');
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new MillraceError('malformed-response', 'the archive is damaged', { cause: error });
  } finally {
    signal.removeEventListener('abort', abort);
    pieces.destroy();
    source.destroy();
  }
}

/** Throws if more than `MAX_HEADER_BYTES` come before the next entry. */
class BoundedHeaders {
  readonly #source: Readable;
  #passed = 0;
  #limit = MAX_HEADER_BYTES;

  constructor(source: Readable) {
    this.#source = source;
  }

  /** Sets the limit for the next header. Call it for each entry as it arrives. */
  entry(size: number): void {
    this.#limit = this.#passed + size + MAX_HEADER_BYTES;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    for await (const piece of this.#source as AsyncIterable<Buffer>) {
      this.#passed += piece.length;
      if (this.#passed > this.#limit) throw new MillraceError('malformed-response', 'long header');
      yield piece;
    }
  }
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
