/** Stores the body of a download's first answer, which has arrived and is not requested again. */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Session } from '@millrace/shared/download/transfer/session';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import { SegmentWriter } from '../partial/segment-writer.ts';
import type { DownloadSource } from './download-source.ts';
import { HeldAnswer } from './held-answer.ts';
import { FIRST_BYTES, type First } from './opening.ts';
import type { SourceSet } from './source-set.ts';

/** Longest wait for the first bytes, ms: then other sources are asked, too. */
const FIRST_MS = 1000;
/** The same for an answer that is of use only as a whole, if there are other sources. */
const WHOLE_MS = 5000;
/** Ends the first reading of an answer that goes on. */
const ENOUGH = new Error('enough');

export interface FirstBodyOptions {
  readonly file: PartialFile;
  readonly sources: SourceSet;
  readonly pool: SegmentPool;
  readonly session: Session<DownloadSource>;
}

/**
 * Stores the first bytes of the first answer, unless bytes are stored already: as many as come
 * within a second, if the answer can be read on later. Another answer is given up after five, if
 * there are other sources.
 *
 * @returns the answer if it has more bytes
 * @throws the signal's reason; MillraceError of the file. A failure of the source is reported, not
 *   thrown, and trustworthy bytes before it are kept
 */
export async function readFirstBody(
  { source, opened }: First,
  { file, sources, pool, session }: FirstBodyOptions,
): Promise<HeldAnswer | undefined> {
  if (opened.kind !== 'range' || file.stored.covers(opened.range)) return void opened.discard();
  const { checked, isPlain } = opened;
  const held = isPlain ? new HeldAnswer(source, opened) : undefined;
  const { start } = opened.range;
  const end = isPlain ? Math.min(opened.range.end, start + FIRST_BYTES) : opened.range.end;
  if (file.stored.covers({ start, end })) return void opened.discard();
  const range = { start, end };
  const { signal } = session;
  const writer = new SegmentWriter(file, pool, start, checked);
  sources.started(source);
  let error: MillraceError | undefined;
  const ended = new AbortController();
  const enough = new AbortController();
  let isLate = false;
  try {
    const take = takeInto(writer, source, sources, session);
    if (held === undefined) {
      if (sources.sources.length > 1) {
        void session.wait(WHOLE_MS, ended.signal).then(() => {
          isLate = !ended.signal.aborted;
          if (isLate) opened.discard();
        });
      }
      await opened.read(take, () => writer.room());
    } else {
      void session.wait(FIRST_MS, ended.signal).then(() => enough.abort(ENOUGH));
      await held.read(end, take, AbortSignal.any([signal, enough.signal]));
    }
  } catch (thrown) {
    if (thrown !== ENOUGH && !isLate) error = asMillraceError(thrown);
  } finally {
    ended.abort();
  }
  sources.ended(source, source.host, error === undefined);
  await writer.end();
  signal.throwIfAborted();
  if (error === undefined) {
    if (isLate && checked) await file.forget(range);
    else if (checked) await file.confirm(range);
    return held?.isOpen ? held : undefined;
  }
  sources.onFailure(source, error, true);
  session.onSourceFailed?.(source, error);
  // A broken connection casts no doubt on the bytes that came before it, unless a digest is due.
  const broke = error.code === 'origin-reset' || error.code === 'origin-timeout';
  if (!broke || checked) await file.forget(range);
  held?.discard();
  return undefined;
}

/**
 * Reads what is left of the first answer, and stores its bytes that are missing: the source serves
 * no other request.
 *
 * @throws the signal's reason; MillraceError of the file or of the answer
 */
export async function readOn(
  held: HeldAnswer,
  { file, sources, pool, session }: FirstBodyOptions,
): Promise<void> {
  const { source } = held;
  const { length } = file;
  if (length === undefined) throw new MillraceError('internal', 'the length is not known');
  const writer = new SegmentWriter(file, pool, held.position, false);
  const take = takeInto(writer, source, sources, session);
  sources.started(source);
  try {
    await held.read(
      held.end,
      (position, bytes) => {
        const end = position + bytes.length;
        let wait: Promise<void> | undefined;
        for (const part of file.stored.missing({ start: position, end })) {
          wait = take(part.start, bytes.subarray(part.start - position, part.end - position));
        }
        return wait;
      },
      session.signal,
    );
  } finally {
    sources.ended(source, source.host, false);
    await writer.end();
  }
}

/** Returns a sink that stores bytes and counts them. */
function takeInto(
  writer: SegmentWriter,
  source: DownloadSource,
  sources: SourceSet,
  session: Session<DownloadSource>,
): Sink {
  return (position, bytes) => {
    source.health.onBytes();
    sources.onBytes(source, bytes.length);
    source.gave({ start: position, end: position + bytes.length }, true);
    const wait = session.onBytes(source, bytes.length, session.signal);
    const room = writer.write(position, bytes);
    return room === undefined ? wait : room.then(() => wait);
  };
}
