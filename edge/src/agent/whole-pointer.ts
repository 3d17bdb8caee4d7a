/** Waits for the length of a file that comes in one stream, which other nodes need for its chunks. */

import type { Pointer } from '../files/file-version.ts';
import type { Resolution } from './origin-version.ts';

/** Time for which another node waits for the end of a stream whose length is not known. */
const STREAM_WAIT_MS = 4000;

/**
 * Waits until the length of a file is known, for some time.
 *
 * @returns undefined for a file that other nodes have to ask the origin for
 * @throws the signal's reason
 */
export async function wholePointer(
  resolution: Resolution,
  signal: AbortSignal,
): Promise<Pointer | undefined> {
  if (resolution.kind === 'tunnel') return undefined;
  if (resolution.kind === 'file') return resolution.pointer;
  const { stream, pointer } = resolution;
  const end = AbortSignal.any([signal, AbortSignal.timeout(STREAM_WAIT_MS)]);
  // A stream that goes on is paced by the requests for its chunks.
  const follower = stream.follow(true);
  try {
    while (stream.length === undefined && !stream.ended) {
      follower.at(stream.received);
      await stream.changed(end);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!end.aborted) throw error;
  } finally {
    follower.leave();
  }
  const { length, error } = stream;
  if (error !== undefined) throw error;
  return length === undefined
    ? undefined
    : { ...pointer, version: { ...pointer.version, length }, chunks: undefined };
}
