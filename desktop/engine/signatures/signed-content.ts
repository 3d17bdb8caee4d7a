/** Contents that signatures cover: a text in memory, or a stored file of any length. */

import { createHash } from 'node:crypto';

const READ_BYTES = 1024 * 1024;

export interface SignedContent {
  /**
   * Returns the digest of the content between two other texts.
   *
   * @param algorithm a name that Node's crypto knows
   * @throws MillraceError if the file cannot be read; the signal's reason
   */
  digest(algorithm: string, before: Uint8Array, after: Uint8Array): Promise<Uint8Array>;
  /** The content itself; undefined for a file, which may be larger than memory. */
  readonly bytes: Uint8Array | undefined;
}

/** Makes the content of a text in memory. */
export function textContent(bytes: Uint8Array): SignedContent {
  return {
    bytes,
    digest: async (algorithm, before, after) =>
      createHash(algorithm).update(before).update(bytes).update(after).digest(),
  };
}

/** The part of a partial file that is read here. */
interface ReadFile {
  /** @returns `into.length` */
  read(into: Buffer, position: number): Promise<number>;
}

/** Makes the content of a stored file. @param length bytes */
export function fileContent(file: ReadFile, length: number, signal: AbortSignal): SignedContent {
  return {
    bytes: undefined,
    digest: async (algorithm, before, after) => {
      const hash = createHash(algorithm).update(before);
      const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
      for (let at = 0; at < length; at += READ_BYTES) {
        signal.throwIfAborted();
        const piece = buffer.subarray(0, Math.min(READ_BYTES, length - at));
        hash.update(piece.subarray(0, await file.read(piece, at)));
      }
      return hash.update(after).digest();
    },
  };
}
