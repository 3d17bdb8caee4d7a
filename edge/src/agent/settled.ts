/** Takes a stream that has ended by now for a file like all others. */

import type { Resolution } from './origin-version.ts';

/** Returns a file in place of a stream that is complete. */
export function settled(resolution: Resolution): Resolution {
  if (resolution.kind !== 'stream') return resolution;
  const { stream, pointer, outcome } = resolution;
  const { length, error } = stream;
  if (!stream.ended || error !== undefined || length === undefined) return resolution;
  const version = { ...pointer.version, length };
  return { kind: 'file', pointer: { ...pointer, version }, outcome };
}
