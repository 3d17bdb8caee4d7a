/** Answers a request for a file whose version is known: the header, and chunks as its body. */

import { randomBytes } from 'node:crypto';
import { RangeSet } from '@millrace/shared/base/byte-range';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { bringsFirstChunk, withFirstChunk } from '@millrace/shared/cdn/chunks/cache-outcome';
import { isFileOfDepots } from '@millrace/shared/cdn/depot/depot-file';
import { decideAnswer } from '@millrace/shared/http/answers/answer';
import { currentAge, generatedBy } from '@millrace/shared/http/answers/freshness';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import { KNOWN_DIGEST } from '@millrace/shared/http/fields/known-digest';
import { viaItem } from '@millrace/shared/http/fields/via';
import type { ChunkStore, Found } from '../../agent/chunk-store.ts';
import { Delivery } from '../../agent/delivery.ts';
import { type BodyPlan, responseHead } from '../../agent/response-head.ts';
import { endResponse } from '../../clients/connection.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import type { Metrics } from '../../figures/metrics.ts';
import type { FileVersion, Pointer } from '../../files/file-version.ts';
import { changeFields } from '../../policy/origin-rules.ts';
import { type ForClientOptions, forClient } from './for-client.ts';
import { sendMoved } from './send-moved.ts';

export interface SendFileOptions extends ForClientOptions {
  /** Name of this edge. */
  readonly name: string;
  readonly chunkBytes: number;
  readonly chunks: ChunkStore;
  readonly metrics: Metrics;
  /** Called with the index and bytes of each chunk that goes to a client. */
  readonly onChunk?: ((version: FileVersion, index: number, bytes: number) => void) | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly random: Random;
  /** False while memory for chunks is short. */
  readonly spare: () => boolean;
  /**
   * True if a client's transfers wait when there is no memory for a chunk. One of many transfers
   * fails, so that a client with a single one gets its file.
   *
   * @param client address of the client
   */
  readonly waitsForMemory: (client: string) => boolean;
}

/**
 * Answers a request with a file that is cut into chunks.
 *
 * @param outcome of the search for the version
 * @returns resolves when the client's socket has taken every byte
 * @throws MillraceError; if the header has not been sent, nothing has
 */
export async function sendFile(
  o: SendFileOptions,
  exchange: Exchange,
  pointer: Pointer,
  outcome: CacheOutcome,
): Promise<void> {
  const { req, res } = exchange;
  const { version } = pointer;
  const { policy, chunkBytes, name } = o;
  exchange.kind = 'file';
  const first = Math.min(chunkBytes, version.length);
  if (bringsFirstChunk(outcome)) exchange.admission.fetched(first);
  // A file of a depot has no origin: its capability, which has been checked, decides alone.
  if (!isFileOfDepots(version.url)) {
    // A known pointer may have been stored when other rules held, or for a request with other rules.
    policy.check(new URL(pointer.finalUrl), version.scope, exchange.grant);
    policy.checkFile(pointer);
  }
  const found = { url: new URL(pointer.finalUrl), headers: version.fields, outcome };
  // A client that knows the digest wants the bytes, from wherever they come.
  if (version.digest === undefined && sendMoved(o, exchange, found)) return;
  const answer = decideAnswer(req.method ?? 'GET', req.headers, {
    ...version,
    generatedBy: generatedBy(version.fields, pointer.freshness),
  });
  if (answer.kind === 'precondition-failed') throw new MillraceError('precondition-failed');
  if (answer.kind === 'unsatisfiable') {
    res.setHeader('content-range', `bytes */${version.length}`);
    throw new MillraceError('range-not-satisfiable', `the file has ${version.length} bytes`);
  }
  const boundary = () => randomBytes(16).toString('hex');
  const made = responseHead(answer, version, chunkBytes, boundary);
  if (exchange.url !== undefined) {
    changeFields(policy.rule(exchange.url), made.headers, req.headers.origin);
  }
  const head = { ...made, headers: forClient(o, exchange, made.headers) };
  // Caches on the way to the client must not give this content to clients that ask for another.
  if (version.digest !== undefined) {
    const { vary } = head.headers;
    head.headers.vary = vary === undefined ? KNOWN_DIGEST : `${vary}, ${KNOWN_DIGEST}`;
  }
  const age = currentAge(pointer.freshness, o.wallClock());
  Object.assign(head.headers, { via: viaItem(name), age: String(Math.floor(age / 1000)) });
  exchange.bodyBytes = head.body?.slices.bytes ?? 0;
  if (head.body === undefined || head.body.slices.count === 0 || req.method === 'HEAD') {
    head.headers['cache-status'] = formatCacheStatus(name, outcome);
    res.writeHead(head.status, head.headers).end();
    return;
  }
  const ranges = new RangeSet();
  exchange.taken = { version: version.tag, length: version.length, ranges };
  await deliver(o, exchange, pointer, head.body, async (found) => {
    const whole = found.chunk.data.length;
    if (head.body?.slices.count === 1 && head.headers['content-length'] === String(whole)) {
      const digest = (await found.chunk.digest()).toString('base64');
      head.headers['content-digest'] = `sha-256=:${digest}:`;
    }
    head.headers['cache-status'] = formatCacheStatus(name, withFirstChunk(outcome, found));
    res.writeHead(head.status, head.headers);
  });
  if (head.body.parts !== undefined) res.write(head.body.parts.end, 'latin1');
  await endResponse(res);
}

function deliver(
  o: SendFileOptions,
  exchange: Exchange,
  { version, finalUrl }: Pointer,
  plan: BodyPlan,
  begin: (first: Found) => Promise<void>,
): Promise<void> {
  const { chunks, chunkBytes, metrics, now, random, spare, onChunk } = o;
  const delivery = new Delivery({
    res: exchange.res,
    version,
    directUrl: finalUrl === version.url ? undefined : finalUrl,
    grant: exchange.grant,
    client: exchange.clientKey,
    trace: exchange.span?.onward,
    plan,
    chunkBytes,
    store: chunks,
    signal: exchange.controller.signal,
    admission: exchange.admission,
    now,
    random,
    spare,
    waitsForMemory: () => o.waitsForMemory(exchange.client),
    begin,
    observe: {
      chunk: (found, index) => {
        metrics.chunks.inc({ tier: found.tier });
        onChunk?.(version, index, found.chunk.data.length);
        if (found.joined) metrics.joins.inc();
      },
      retry: (attempt) => {
        metrics.retries.inc();
        if (attempt === 1) metrics.retriedChunks.inc();
      },
      window: (chunksInWindow) => metrics.window.observe(chunksInWindow),
      sent: (bytes) => {
        exchange.sentBytes += bytes;
        metrics.sentToClient(bytes);
      },
      taken: (range) => exchange.taken?.ranges.add(range),
    },
  });
  exchange.heldBytes = () => delivery.heldBytes;
  return delivery.run();
}
