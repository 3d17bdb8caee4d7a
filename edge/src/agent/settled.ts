/** Takes streams for files like all others, where that is possible. */

import type { Resolution } from './origin-version.ts';

/**
 * Returns a file in place of a stream that is complete. For a client that asks for a part, a stream
 * whose length the origin has stated is a file as well: its chunks are there once they have passed.
 *
 * @param asksForPart true if the request has a range
 */
export function settled(resolution: Resolution, asksForPart: boolean): Resolution {
  if (resolution.kind !== 'stream') return resolution;
  const { stream, pointer, outcome } = resolution;
  const { length, error } = stream;
  const isFile = (stream.ended || asksForPart) && error === undefined && length !== undefined;
  if (!isFile) return resolution;
  const version = { ...pointer.version, length };
  return { kind: 'file', pointer: { ...pointer, version }, outcome };
}
