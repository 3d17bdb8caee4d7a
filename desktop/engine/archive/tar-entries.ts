/** Reads the entries of a tar that a stranger has made, one after the other. */

import { Readable } from 'node:stream';
import { MillraceError } from '@millrace/shared/base/errors';
import { extract } from 'tar-stream';

/**
 * Longest headers before one entry, in bytes. The library holds a long header, such as the pax
 * header of a long path, in memory as a whole; paths of a manifest need a few thousand bytes.
 */
export const MAX_HEADER_BYTES = 2 ** 20;

/** An entry as its headers tell it: nothing of that is checked, except that the size is one. */
export interface TarEntry {
  readonly name: string;
  /** Such as `file`, `directory`, `symlink`. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  /** Permissions. */
  readonly mode: number;
  /** Unix milliseconds. */
  readonly mtimeMs: number;
  /** Target of a link; of a hard one, the path of another entry. */
  readonly target?: string | undefined;
  /** Records of its pax header. */
  readonly pax: Readonly<Record<string, string>>;
}

/**
 * Reads a tar.
 *
 * @param source the archive's bytes; destroyed at the end
 * @param onEntry called for each entry; what it leaves of the content is skipped
 * @throws MillraceError `malformed-response` if the bytes are not an archive; `interrupted`
 * @throws errors of `onEntry` or the source that have a `code`
 */
export async function readEntries(
  source: Readable,
  onEntry: (entry: TarEntry, content: AsyncIterable<Buffer>) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
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
      const { name, type, size = 0, mode = 0, mtime, linkname, pax } = entry.header as Header;
      // The library accepts sizes that are not a number of bytes, and then waits for ever.
      if (!Number.isSafeInteger(size) || size < 0) throw new Error(`an entry of ${size} bytes`);
      bounded.entry(size);
      const mtimeMs = mtime?.getTime() ?? 0;
      const target = linkname ?? undefined;
      const own = { name, type: type ?? '', size, mode, mtimeMs, target, pax: pax ?? {} };
      await onEntry(own, entry as unknown as AsyncIterable<Buffer>);
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

/** The library's header: its types lack the records of pax, and types that it does not know. */
interface Header {
  readonly name: string;
  readonly type?: string | null | undefined;
  readonly size?: number | undefined;
  readonly mode?: number | undefined;
  readonly mtime?: Date | undefined;
  readonly linkname?: string | null | undefined;
  readonly pax?: Record<string, string> | null | undefined;
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
