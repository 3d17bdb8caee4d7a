/** Compares the bytes of a file with the digests in its journal. */

import type { FileHandle } from 'node:fs/promises';
import type { JournalEntry } from '@millrace/shared/download/journal/journal';
import { readAll } from '../files/file-steps.ts';
import { segmentDigest } from './segment-digest.ts';

/** Number of concurrent reads: the disk reads ahead while the processor hashes. */
const READS = 4;
/** Longest journal entry that is read, in bytes; a longer one counts as wrong. */
const MAX_ENTRY_BYTES = 64 * 1024 * 1024;

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doneBytes: number, totalBytes: number) => void) | undefined;
}

/**
 * Verifies the journal's entries.
 *
 * @returns the entries whose bytes match their digest, in the given order
 * @throws Error of the file system; the signal's reason
 */
export async function verifyEntries(
  file: FileHandle,
  entries: readonly JournalEntry[],
  { signal, onProgress }: VerifyOptions = {},
): Promise<JournalEntry[]> {
  const bytesOf = ({ range }: JournalEntry) => range.end - range.start;
  const totalBytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  const right = new Array<boolean>(entries.length).fill(false);
  let doneBytes = 0;
  let next = 0;
  const reader = async () => {
    let buffer = Buffer.alloc(0);
    while (next < entries.length) {
      signal?.throwIfAborted();
      const index = next++;
      const entry = entries[index] as JournalEntry;
      const bytes = bytesOf(entry);
      if (bytes <= MAX_ENTRY_BYTES) {
        if (buffer.length < bytes) buffer = Buffer.allocUnsafeSlow(bytes);
        const into = buffer.subarray(0, bytes);
        const whole = await readAll(file, into, entry.range.start);
        right[index] = whole && segmentDigest(into) === entry.digest;
      }
      doneBytes += bytes;
      onProgress?.(doneBytes, totalBytes);
    }
  };
  await Promise.all(Array.from({ length: Math.min(READS, entries.length) }, reader));
  return entries.filter((_, index) => right[index]);
}
