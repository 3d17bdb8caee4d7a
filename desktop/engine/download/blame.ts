/** Finds the sources of bytes that turned out to be wrong. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadSource } from '../sources/download-source.ts';
import { isDoubted } from './other-ways.ts';

/** Number of checks with bad pieces from a source after which the source is excluded. */
const MAX_BAD_ROUNDS = 4;

/**
 * Blames the sources of bad pieces, which have broken the contract. A source that gave mostly bad
 * bytes has another file; damage on the way is forgiven a few times.
 *
 * @param onFailed called with each source that gave bad pieces
 * @throws MillraceError `wrong-digest` if a source that gave bad pieces is excluded while other
 *   sources, which it may have put in doubt, could have the file
 */
export function blame(
  bad: readonly ByteRange[],
  sources: readonly DownloadSource[],
  onFailed: (source: DownloadSource, error: MillraceError) => void,
): void {
  for (const source of sources) {
    const badBytes = bad.reduce((sum, range) => sum + source.given.bytesWithin(range), 0);
    if (badBytes === 0) continue;
    const error = new MillraceError('wrong-digest', 'pieces from it have another digest');
    const mostly = badBytes * 2 > source.given.bytes;
    const isStranger = source.kind === 'house';
    if (mostly || isStranger || ++source.badRounds >= MAX_BAD_ROUNDS)
      source.health.quarantineFor(error);
    onFailed(source, error);
    for (const range of bad) source.given.remove(range);
  }
  // An edge of the house puts no other source in doubt: nothing is compared with its bytes.
  const caught = sources.some(
    ({ kind, health }) => kind !== 'house' && health.quarantine?.code === 'wrong-digest',
  );
  if (caught && sources.some(isDoubted)) throw new MillraceError('wrong-digest');
}
