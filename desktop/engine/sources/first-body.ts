/** Stores the body of a download's first answer, which has arrived and is not requested again. */

import { asMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import type { Session } from '@millrace/shared/download/transfer/session';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import { SegmentWriter } from '../partial/segment-writer.ts';
import type { HttpSource } from './http-source.ts';
import type { First } from './opening.ts';
import type { SourceSet } from './source-set.ts';

export interface FirstBodyOptions {
  readonly file: PartialFile;
  readonly sources: SourceSet;
  readonly pool: SegmentPool;
  readonly session: Session<HttpSource>;
}

/**
 * Stores the bytes of the first answer unless they are stored already.
 *
 * @throws the signal's reason; MillraceError of the file. A failure of the source is reported, not
 *   thrown, and trustworthy bytes before it are kept
 */
export async function readFirstBody(
  { source, opened }: First,
  { file, sources, pool, session }: FirstBodyOptions,
): Promise<void> {
  if (opened.kind !== 'range' || file.stored.covers(opened.range)) return opened.discard();
  const { range, checked } = opened;
  const writer = new SegmentWriter(file, pool, range.start, checked);
  sources.started(source);
  let error: MillraceError | undefined;
  try {
    const take: Sink = (position, bytes) => {
      source.health.onBytes();
      sources.onBytes(source, bytes.length);
      source.given.add({ start: position, end: position + bytes.length });
      const wait = session.onBytes(source, bytes.length, session.signal);
      const room = writer.write(position, bytes);
      return room === undefined ? wait : room.then(() => wait);
    };
    await opened.read(take, () => writer.room());
  } catch (thrown) {
    error = asMillraceError(thrown);
  }
  sources.ended(source, source.host, error === undefined);
  await writer.end();
  session.signal.throwIfAborted();
  if (error === undefined) return checked ? file.confirm(range) : undefined;
  sources.onFailure(source, error, true);
  session.onSourceFailed?.(source, error);
  // A broken connection casts no doubt on the bytes that came before it, unless a digest is due.
  const broke = error.code === 'origin-reset' || error.code === 'origin-timeout';
  if (!broke || checked) await file.forget(range);
}
