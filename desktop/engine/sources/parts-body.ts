/**
 * Bodies in parts (RFC 9110 14.6): each part says which bytes of the file it holds, and how long
 * the file is. Edges send chunks as parts in the order in which the chunks arrive; some other
 * servers send parts for a single range.
 */

import { type ByteRange, RangeSet, rangeBytes } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import {
  type MultipartEvent,
  MultipartReader,
} from '@millrace/shared/http/messages/multipart-reader';
import type { HttpStream } from '@millrace/shared/node/http-client';
import { pump } from './pump.ts';

/**
 * Passes the bytes of all parts to a sink; rejects if the parts together are not all of `asked`.
 *
 * @param asked the range that was asked for; its end may lie past the file's
 * @param length of the file, in bytes; undefined if the first part is to state it
 * @param begin called at the first part, with the length of the file; reading stops until it has
 *   returned the sink
 * @throws MillraceError `malformed-response`, `version-changed`, `wrong-range`, `wrong-length` or
 *   `origin-reset`; errors of the sink
 */
export async function readParts(
  response: HttpStream,
  boundary: string,
  asked: ByteRange,
  length: number | undefined,
  begin: (length: number) => Sink | Promise<Sink>,
): Promise<void> {
  const reader = new MultipartReader(boundary);
  const covered = new RangeSet();
  let total = length;
  let sink: Sink | undefined;
  let bytes = 0;
  const take = (events: Generator<MultipartEvent>): Promise<void> | undefined => {
    let wait: Promise<void> | undefined;
    for (let next = events.next(); !next.done; next = events.next()) {
      const event = next.value;
      if (event.kind === 'part') {
        total ??= event.total;
        if (event.total !== total)
          throw new MillraceError('version-changed', { code: 'its-length' });
        cover(covered, event.range, asked);
        if (sink !== undefined) continue;
        const begun = begin(total);
        if (begun instanceof Promise) {
          return begun.then((given) => {
            sink = given;
            return take(events);
          });
        }
        sink = begun;
      } else if (event.kind === 'data') {
        bytes += event.bytes.length;
        wait = sink?.(event.position, event.bytes) ?? wait;
      }
    }
    return wait;
  };
  await pump(response, (piece) => take(reader.push(piece)));
  if (!reader.ended || total === undefined) {
    throw new MillraceError('origin-reset', {
      code: 'came-to-end-after',
      values: { hasBytes: bytes },
    });
  }
  const size = rangeBytes({ start: asked.start, end: Math.min(asked.end, total) });
  if (bytes !== size)
    throw new MillraceError('wrong-length', {
      code: 'part-came',
      values: { hasBytes: bytes, wantedBytes: size },
    });
}

/** @throws MillraceError `wrong-range` for a part outside `asked`, and for bytes sent twice */
function cover(covered: RangeSet, part: ByteRange, asked: ByteRange): void {
  if (part.start < asked.start || part.end > asked.end) {
    throw new MillraceError('wrong-range', 'a part that was not asked for');
  }
  const before = covered.bytes;
  covered.add(part);
  if (covered.bytes - before !== rangeBytes(part)) {
    throw new MillraceError('wrong-range', 'bytes that came twice');
  }
}

/**
 * Reads up to the first part of a body for a file of unknown length, and makes the source wait
 * there.
 *
 * @returns the range that the parts must cover, the length of the file in bytes, and a function
 *   that reads the rest
 * @throws MillraceError for the same reasons as `readParts`
 */
export async function beginParts(
  response: HttpStream,
  boundary: string,
  asked: ByteRange,
): Promise<{ range: ByteRange; length: number; read(sink: Sink): Promise<void> }> {
  const head = Promise.withResolvers<number>();
  const sink = Promise.withResolvers<Sink>();
  const ended = readParts(response, boundary, asked, undefined, (length) => {
    head.resolve(length);
    return sink.promise;
  });
  // If the body ends before its first part, this rejects `head` as well. The handler also covers an
  // answer that is discarded unread, which rejects while nobody waits for it.
  ended.catch(head.reject);
  const length = await head.promise;
  return {
    range: { start: asked.start, end: Math.min(asked.end, length) },
    length,
    read(given) {
      sink.resolve(given);
      return ended;
    },
  };
}
