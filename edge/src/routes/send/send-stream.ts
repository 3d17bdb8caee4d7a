/**
 * Answers a request with a file that its origin sends whole, while it comes: what has been stored so
 * far, then what follows. Ranges are ignored until the length is known (RFC 9110 14.2).
 */

import { RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { bringsFirstChunk } from '@millrace/shared/cdn/chunks/cache-outcome';
import { decideAnswer } from '@millrace/shared/http/answers/answer';
import { currentAge, generatedBy } from '@millrace/shared/http/answers/freshness';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import { viaItem } from '@millrace/shared/http/fields/via';
import { sleep } from '@millrace/shared/node/sleep';
import { responseHead } from '../../agent/response-head.ts';
import { endResponse } from '../../clients/connection.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import { writeLoaned } from '../../clients/loaned-write.ts';
import type { Pointer } from '../../files/file-version.ts';
import { changeFields } from '../../policy/origin-rules.ts';
import type { RunningStream } from '../../streams/running-stream.ts';
import { forClient } from './for-client.ts';
import type { LinkPrefixer } from './link-prefixer.ts';
import type { SendFileOptions } from './send-file.ts';
import { sendMoved } from './send-moved.ts';

/** Members of a stream that sending needs; a complete file can have them as well. */
export type Poured = Pick<
  RunningStream,
  'length' | 'received' | 'aloneBytes' | 'ended' | 'error' | 'changed' | 'tail' | 'request'
> & { follow(): { at(position: number): void; leave(): void } };

/**
 * Sends a file from a stream.
 *
 * @param links changes the links of a page, whose length and digests are then other ones
 * @returns resolves when the client's socket has taken every byte
 * @throws MillraceError; if the header has not been sent, nothing has
 */
export async function sendStream(
  o: SendFileOptions,
  exchange: Exchange,
  stream: Poured,
  pointer: Pointer,
  outcome: CacheOutcome,
  links?: LinkPrefixer,
): Promise<void> {
  const { req, res, controller } = exchange;
  const version = { ...pointer.version, length: stream.length ?? 0 };
  const { policy, name, chunkBytes, wallClock } = o;
  exchange.kind = 'file';
  policy.check(new URL(pointer.finalUrl), version.scope, exchange.grant);
  policy.checkFile({ ...pointer, version });
  const found = { url: new URL(pointer.finalUrl), headers: version.fields, outcome };
  if (sendMoved(o, exchange, found)) return;
  const headers = { ...req.headers };
  delete headers.range;
  const answer = decideAnswer(req.method ?? 'GET', headers, {
    ...version,
    generatedBy: generatedBy(version.fields, pointer.freshness),
  });
  if (answer.kind === 'precondition-failed') throw new MillraceError('precondition-failed');
  if (answer.kind === 'unsatisfiable')
    throw new MillraceError('internal', 'no range was asked for');
  const made = responseHead(answer, version, chunkBytes, () => '');
  if (exchange.url !== undefined)
    changeFields(policy.rule(exchange.url), made.headers, req.headers.origin);
  const head = forClient(o, exchange, made.headers);
  if (stream.length === undefined || links !== undefined) delete head['content-length'];
  if (links !== undefined) asOtherBytes(head);
  // With a strong tag a client would ask for a part, to join it to bytes that are not encoded.
  if (version.fields['content-encoding'] !== undefined) weakenTag(head);
  // A client that took it for resumable now would ask for a part that has not come.
  if (made.status === 200) head['accept-ranges'] = 'none';
  const age = currentAge(pointer.freshness, wallClock());
  Object.assign(head, {
    via: viaItem(name),
    age: String(Math.floor(age / 1000)),
    'cache-status': formatCacheStatus(name, outcome),
  });
  exchange.bodyBytes = stream.length ?? 0;
  if (made.status !== 200 || req.method === 'HEAD') {
    // Without a body to send, the stream that this request has begun goes on alone.
    if (bringsFirstChunk(outcome)) exchange.admission.fetched(stream.aloneBytes);
    res.writeHead(made.status, head).end();
    return;
  }
  const follower = stream.follow();
  exchange.taken = { version: version.tag, length: undefined, ranges: new RangeSet() };
  try {
    res.writeHead(200, head);
    res.flushHeaders();
    await pour(o, exchange, stream, links, (position) => follower.at(position));
  } finally {
    follower.leave();
    // The last one to leave is charged for what still comes.
    exchange.admission.fetched(stream.aloneBytes);
  }
  controller.signal.throwIfAborted();
  exchange.taken.length = stream.length;
  await endResponse(res);
}

/** Fields of the origin's bytes, which a page with other links does not have. */
const OF_BYTES = ['repr-digest', 'digest', 'content-md5', 'content-digest'];
const NOTHING = Buffer.alloc(0);

/** Changes a header to that of a page with other links: its tag is weak, as for a compressed file. */
function asOtherBytes(head: Record<string, string>): void {
  for (const name of OF_BYTES) delete head[name];
  weakenTag(head);
}

/** A weak tag is not for ranges (RFC 9110 13.1.5). */
function weakenTag(head: Record<string, string>): void {
  if (head.etag?.startsWith('"') === true) head.etag = `W/${head.etag}`;
}

/** Writes the body, as fast as the client takes it. */
async function pour(
  { chunks, chunkBytes, policy, metrics, now }: SendFileOptions,
  exchange: Exchange,
  stream: Poured,
  links: LinkPrefixer | undefined,
  onSent: (position: number) => void,
): Promise<void> {
  const { res, admission, controller, url } = exchange;
  const { signal } = controller;
  const maxFileSize = url === undefined ? undefined : policy.rule(url).maxFileSize;
  let held = 0;
  exchange.heldBytes = () => held;
  const write = async (piece: Buffer, end = false) => {
    const bytes = links === undefined ? piece : end ? links.end() : links.push(piece);
    if (bytes.length === 0) return;
    held = bytes.length;
    admission.sent(bytes.length, now());
    exchange.sentBytes += bytes.length;
    metrics.sentToClient(bytes.length);
    // The file's length was not known before.
    if (exchange.sentBytes > (maxFileSize ?? Number.POSITIVE_INFINITY)) {
      throw new MillraceError('file-too-large');
    }
    await new Promise<void>((resolve, reject) => {
      writeLoaned(res, bytes, (error) => (error == null ? resolve() : reject(error)));
    });
    exchange.taken?.ranges.add({
      start: exchange.sentBytes - bytes.length,
      end: exchange.sentBytes,
    });
    held = 0;
    const wait = admission.waitMs(now());
    if (wait > 0) await sleep(wait, signal);
  };
  for (let position = 0; ; onSent(position)) {
    signal.throwIfAborted();
    if (stream.error !== undefined) throw stream.error;
    if (position >= stream.received) {
      if (stream.ended) return links && write(NOTHING, true);
      await stream.changed(signal);
      continue;
    }
    const tail = stream.tail(position);
    if (tail !== undefined) {
      // The client at the tail is the one for whom the bytes come.
      admission.fetched(tail.length);
      await write(tail);
      position += tail.length;
      continue;
    }
    const { chunk, tier } = await chunks.get(
      stream.request(Math.floor(position / chunkBytes)),
      signal,
    );
    try {
      metrics.chunks.inc({ tier });
      const bytes = chunk.data.subarray(position % chunkBytes);
      await write(bytes);
      position += bytes.length;
    } finally {
      chunk.release();
    }
  }
}
