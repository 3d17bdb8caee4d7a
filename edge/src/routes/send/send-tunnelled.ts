/** Answers a request with the origin's own response, if the file cannot be cut into chunks. */

import { RangeSet } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { listField } from '@millrace/shared/http/fields/headers';
import { readKnownDigest } from '@millrace/shared/http/fields/known-digest';
import { viaItem } from '@millrace/shared/http/fields/via';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { readAnswer } from '../../agent/read-answer.ts';
import { isOfFile, pipeTunnel, type TunnelHead, tunnelHead } from '../../agent/tunnel.ts';
import { endResponse } from '../../clients/connection.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import { answerError, begunBytes } from '../../egress/answer-error.ts';
import { checkDeclared } from '../../egress/content-check.ts';
import type { OriginRecords } from '../../egress/origin-records.ts';
import type { Metrics } from '../../figures/metrics.ts';
import { AnsweredError } from '../../files/origin-answer.ts';
import { changeFields } from '../../policy/origin-rules.ts';
import { type ForClientOptions, forClient } from './for-client.ts';
import { sendMoved } from './send-moved.ts';

export interface SendTunnelledOptions extends ForClientOptions {
  /** Name of this edge. */
  readonly name: string;
  /** Bytes that a client is charged for a body that is given up, if its length is not known. */
  readonly chunkBytes: number;
  readonly records: OriginRecords;
  readonly metrics: Metrics;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/**
 * Passes an origin's response on to the client.
 *
 * @param response of the origin; its body is read or discarded here
 * @param reason one word: why the file cannot be cut into chunks
 * @returns resolves when the client's socket has taken every byte
 * @throws MillraceError; nothing has been sent if the header has not
 */
export async function sendTunnelled(
  o: SendTunnelledOptions,
  exchange: Exchange,
  response: HttpResponse,
  reason: string,
): Promise<void> {
  const { req, res, controller, url = response.url } = exchange;
  const { metrics, policy, records, chunkBytes, now, name } = o;
  const discard = () => {
    response.discard();
    // The client is charged for bytes that the origin has begun to send.
    const bytes = begunBytes(response, chunkBytes);
    exchange.admission.fetched(bytes);
    metrics.originBytes.inc(bytes);
  };
  if (policy.rule(url).passAnswers === true && !isOfFile(response.status)) {
    // Errors of the table stay for what clients do not get.
    const error = answerError(response, records.pause(response.url), now());
    const answer = await readAnswer(response, error, controller.signal);
    if (answer !== undefined) {
      const { status: fwdStatus } = response;
      throw new AnsweredError(answer, { hit: false, fwd: 'bypass', fwdStatus, detail: reason });
    }
  }
  let head: TunnelHead;
  const contentRange = listField(response.headers, 'content-range');
  if (response.status === 416 && contentRange !== undefined) {
    res.setHeader('content-range', contentRange);
  }
  try {
    const digest = readKnownDigest(req.headers);
    if (digest !== undefined) checkDeclared(response, digest);
    head = tunnelHead(response, req.headers, records.pause(response.url), now());
    if (head.status !== 304) policy.checkAnswer(url, response);
  } catch (error) {
    discard();
    throw error;
  }
  const outcome: CacheOutcome = {
    hit: false,
    fwd: 'bypass',
    fwdStatus: response.status,
    detail: reason,
  };
  if (sendMoved(o, exchange, { url: response.url, headers: head.headers, outcome })) {
    return discard();
  }
  changeFields(policy.rule(url), head.headers, req.headers.origin);
  exchange.bodyBytes = Number(head.headers['content-length'] ?? 0);
  res.writeHead(head.status, {
    ...forClient(o, exchange, head.headers),
    via: viaItem(name),
    'cache-status': formatCacheStatus(name, outcome),
  });
  if (req.method === 'HEAD' || head.headers['content-length'] === '0' || head.status === 304) {
    discard();
    res.end();
    return;
  }
  const { maxFileSize = Number.POSITIVE_INFINITY } = policy.rule(url);
  const { admission } = exchange;
  const onBytes = (bytes: number) => {
    exchange.sentBytes += bytes;
    admission.sent(bytes, now());
    admission.fetched(bytes);
    metrics.sentToClient(bytes);
    metrics.originBytes.inc(bytes);
    // The file's length was not known before.
    if (exchange.sentBytes > maxFileSize) controller.abort(new MillraceError('file-too-large'));
  };
  const taken = tunnelled(head);
  exchange.taken = taken;
  const { start } = taken;
  try {
    await pipeTunnel(response, res, { admission, signal: controller.signal, now, onBytes });
    await endResponse(res);
    taken.ranges.add({ start, end: start + exchange.sentBytes });
  } catch (error) {
    // The last byte, and what the kernel has not taken, may not have reached the client.
    const lost = Math.max(1, res.writableLength);
    taken.ranges.add({ start, end: start + Math.max(0, exchange.sentBytes - lost) });
    throw error;
  }
}

/** Says which part of which version an answer is, as far as the origin tells. */
function tunnelled({ status, headers }: TunnelHead) {
  const part = status === 206 ? parseContentRange(headers['content-range']) : undefined;
  const known = headers['content-length'];
  const [start, length] =
    part?.kind === 'range'
      ? [part.range.start, part.total]
      : [0, known === undefined ? undefined : Number(known)];
  const version = headers.etag ?? headers['last-modified'] ?? '';
  return { start, version, length, ranges: new RangeSet() };
}
