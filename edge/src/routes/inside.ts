/**
 * Requests of other nodes (NSDI 3.2, figure 4): for a chunk by its name, or for the current version
 * of a file. Statements of a node about itself are trusted only if its signature covers them, and
 * its requests are held to the same policy as those of clients.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { MemoryAccount } from '@millrace/shared/cdn/admission/memory-account';
import { type ChunkName, parseChunkName } from '@millrace/shared/cdn/chunks/chunk-name';
import { digestOfTag } from '@millrace/shared/cdn/chunks/version-tag';
import {
  depotFileId,
  isDepotHost,
  parseDepotQuestion,
} from '@millrace/shared/cdn/depot/depot-file';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import { readDemands } from '@millrace/shared/http/answers/freshness';
import { singleField } from '@millrace/shared/http/fields/headers';
import { viaItem } from '@millrace/shared/http/fields/via';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import type { ChunkStore } from '../agent/chunk-store.ts';
import type { FileResolver } from '../agent/file-resolver.ts';
import type { PointerCache } from '../cache/pointer-cache.ts';
import type { Purges } from '../cache/purges.ts';
import { writeLoaned } from '../clients/loaned-write.ts';
import { beginSpan, spanFields } from '../clients/trace.ts';
import type { Depot } from '../depot/depot.ts';
import type { Metrics } from '../figures/metrics.ts';
import type { Chunk } from '../files/chunk.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import { AnsweredError } from '../files/origin-answer.ts';
import { isToDepot, type Path } from '../files/path.ts';
import type { ExnodeKeeper } from '../keeping/exnode-keeper.ts';
import { problemReply } from '../listen/problem-reply.ts';
import type { ClusterAuth } from '../peers/cluster-auth.ts';
import { writeStoredFile } from '../peers/depot-message.ts';
import { textDigest } from '../peers/text-digest.ts';
import { writeAnswer } from '../peers/version-message.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import type { Streams } from '../streams/streams.ts';
import { answerQuestion } from './inside-depot.ts';
import { sendPiece } from './inside-stream.ts';
import { follows, readClient, readPath, readRequest, readUrl } from './read-inside.ts';
import { versionText } from './version-text.ts';

export interface InsideOptions {
  readonly name: string;
  readonly auth: ClusterAuth;
  readonly policy: OriginPolicy;
  readonly purges: Purges;
  readonly resolver: FileResolver;
  readonly chunks: ChunkStore;
  readonly streams: Streams;
  readonly pointers: PointerCache;
  readonly chunkBytes: number;
  /** This node's own depot, if it has one. */
  readonly depot: Depot | undefined;
  /** ExNodes of other depots that it keeps, if it does. */
  readonly copies: ExnodeKeeper | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
  /** This node's load, told with every answer. */
  readonly load: () => number;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly account: MemoryAccount;
  readonly traces: 'off' | 'read' | 'make';
}

/** Interval at which a waiting node is told how far its chunk is. */
const PROGRESS_INTERVAL_MS = 100;
const OCTETS = 'application/octet-stream';

export class InsideHandler {
  readonly #options: InsideOptions;
  readonly #running = new Set<ServerResponse>();

  constructor(options: InsideOptions) {
    this.#options = options;
  }

  /** Requests under way. */
  get running(): number {
    return this.#running.size;
  }

  /** Cuts off all requests under way. */
  resetAll(): void {
    for (const res of this.#running) resetConnection(res.socket);
  }

  /**
   * Answers a request; never rejects.
   *
   * @param target the raw request target
   */
  async handle(req: IncomingMessage, res: ServerResponse, target: string): Promise<void> {
    const { metrics, log, name, load } = this.#options;
    const controller = new AbortController();
    res.once('close', () => {
      // An error, with its trace, for each answer that is complete would be made for nobody.
      if (!res.writableFinished)
        controller.abort(new MillraceError('interrupted', 'the peer left'));
    });
    this.#running.add(res);
    let status = '200';
    const span = beginSpan(req.headers, this.#options.traces === 'off' ? 'off' : 'read');
    const startedAt = performance.now();
    try {
      await this.#answer(req, res, target, span?.onward, controller.signal);
    } catch (thrown) {
      const error = asMillraceError(thrown instanceof PeerFailure ? thrown.reason : thrown);
      status = String(error.row.status);
      if (error.code === 'internal') log.error({ err: error }, 'internal error');
      else log.debug({ code: error.code, detail: error.detail, target }, 'a peer got an error');
      if (res.headersSent) resetConnection(res.socket);
      else {
        const reply = problemReply(error);
        res.writeHead(reply.status, {
          ...reply.headers,
          via: viaItem(name),
          [INSIDE.load]: String(load()),
        });
        res.end(reply.body);
      }
    } finally {
      this.#running.delete(res);
      metrics.insideRequests.inc({ status });
      if (span !== undefined) {
        const ms = Math.round(performance.now() - startedAt);
        log.debug({ ...spanFields(span), status, ms }, "a peer's request of a trace");
      }
    }
  }

  async #answer(
    req: IncomingMessage,
    res: ServerResponse,
    target: string,
    trace: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { auth, policy, purges, name, account } = this.#options;
    auth.verify(req, target);
    if (account.refuses(this.#running.size, this.#running.size)) {
      throw new MillraceError('out-of-memory', '', { retryAfterMs: 1000 });
    }
    if (req.method !== 'GET') throw new MillraceError('method-not-allowed');
    const path = readPath(req.headers);
    if (path.via.includes(name)) throw new MillraceError('loop-detected', name);
    const wanted = parseChunkName(target.slice(1));
    if (wanted === undefined) throw new MillraceError('bad-chunk-name');
    const url = readUrl(wanted.url);
    if (isDepotHost(url.hostname)) {
      return this.#answerForDepot(req, res, { ...wanted, url: url.href }, path, signal);
    }
    const permit = singleField(req.headers, INSIDE.permit);
    // The first node on the path has checked its expiry.
    const grant = permit === undefined ? undefined : policy.grant(permit, url);
    policy.check(url, 'public', grant);
    const client = readClient(req.headers, path);
    const granted = { ...path, salt: wanted.salt, grant, client, trace };
    purges.hear(url.href, wanted.tag, singleField(req.headers, INSIDE.purges));
    if (singleField(req.headers, INSIDE.want) === 'version') {
      const digest = wanted.tag === undefined ? undefined : digestOfTag(wanted.tag);
      return this.#sendVersion(req, res, url, digest, granted, signal);
    }
    if (singleField(req.headers, INSIDE.want) === 'stream') {
      return this.#sendPiece(req, res, { ...wanted, url: url.href }, signal);
    }
    const request = { ...readRequest(wanted, req.headers), grant, client, trace };
    policy.checkLength(url, request.version.length);
    return this.#sendChunk(req, res, request, granted, signal);
  }

  /**
   * Answers for a file of a depot. Its capability was checked where the client came in; only a depot
   * itself judges proofs. Files of depots have no origin, so no policy is asked.
   */
  async #answerForDepot(
    req: IncomingMessage,
    res: ServerResponse,
    wanted: ChunkName,
    path: Path,
    signal: AbortSignal,
  ): Promise<void> {
    const { auth, chunks, purges } = this.#options;
    // Without a secret, every process of this machine could pass for a node.
    if (!auth.hasSecret) throw new MillraceError('inside-request-refused', 'there is no secret');
    if (singleField(req.headers, INSIDE.want) === 'version') {
      const question = parseDepotQuestion(wanted.url);
      if (question === undefined) throw new MillraceError('bad-chunk-name');
      const stop = this.#every(PROGRESS_INTERVAL_MS, () => this.#interim(res, ''));
      try {
        const file = await answerQuestion(this.#options, question, signal);
        return this.#sendText(req, res, writeStoredFile(file));
      } finally {
        stop();
      }
    }
    if (depotFileId(wanted.url) === undefined) throw new MillraceError('bad-chunk-name');
    const client = readClient(req.headers, path);
    const request = { ...readRequest(wanted, req.headers), client };
    // The asking node takes this one for the depot: asking on would lead back here.
    if (isToDepot(path) && !chunks.isLocal(request)) throw new MillraceError('no-such-allocation');
    purges.hear(wanted.url, wanted.tag, singleField(req.headers, INSIDE.purges));
    const onward = { ...path, salt: wanted.salt, client };
    return this.#sendChunk(req, res, request, onward, signal);
  }

  async #sendVersion(
    req: IncomingMessage,
    res: ServerResponse,
    url: URL,
    digest: string | undefined,
    path: Path,
    signal: AbortSignal,
  ): Promise<void> {
    const { policy, resolver, wallClock } = this.#options;
    const stop = this.#every(PROGRESS_INTERVAL_MS, () => this.#interim(res, ''));
    try {
      const resolution = await resolver.resolve(
        url,
        'public',
        { ...readDemands(req.headers), onlyIfCached: false, digest },
        signal,
        path,
      );
      const body = await versionText(policy, req, resolution, wallClock, signal);
      this.#sendText(req, res, body);
    } catch (error) {
      if (!(error instanceof AnsweredError) || !follows(req)) throw error;
      this.#sendText(req, res, writeAnswer(error.answer, wallClock()));
    } finally {
      stop();
    }
  }

  /** Sends what has come of a stream. */
  async #sendPiece(
    req: IncomingMessage,
    res: ServerResponse,
    wanted: ChunkName,
    signal: AbortSignal,
  ): Promise<void> {
    const stop = this.#every(PROGRESS_INTERVAL_MS, () => this.#interim(res, ''));
    try {
      await sendPiece(this.#options, req, res, wanted, this.#ownFields(), signal);
    } finally {
      stop();
    }
  }

  #sendText(req: IncomingMessage, res: ServerResponse, body: string): void {
    res.writeHead(200, {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...this.#ownFields(),
      ...this.#options.auth.signAnswer(req, ['200', textDigest(body)]),
    });
    res.end(body);
  }

  async #sendChunk(
    req: IncomingMessage,
    res: ServerResponse,
    request: ChunkRequest,
    path: Path,
    signal: AbortSignal,
  ): Promise<void> {
    const { chunks, metrics } = this.#options;
    if (readDemands(req.headers).onlyIfCached) {
      if (!chunks.holds(request)) throw new MillraceError('not-cached');
      // The first bytes may have to wait for others on this node's line.
      this.#interim(res, `${INSIDE.progress}: 0\r\n`);
    }
    let chunk = chunks.peek(request);
    if (chunk === undefined) {
      const stop = this.#watch(res, request, path);
      try {
        const found = await chunks.get(request, signal, path);
        metrics.insideChunks.inc({ tier: found.tier });
        if (found.joined) metrics.joins.inc();
        chunk = found.chunk;
      } finally {
        stop();
      }
    } else metrics.insideChunks.inc({ tier: 'memory' });
    try {
      await this.#send(req, res, chunk, request.version.length, signal);
    } finally {
      chunk.release();
    }
  }

  async #send(
    req: IncomingMessage,
    res: ServerResponse,
    chunk: Chunk,
    fileBytes: number,
    signal: AbortSignal,
  ): Promise<void> {
    const digest = `sha-256=:${(await chunk.digest()).toString('base64')}:`;
    signal.throwIfAborted();
    // A chunk that came in a stream was stored before the file's length was known.
    const length = String(fileBytes);
    res.writeHead(200, {
      'content-type': OCTETS,
      'content-length': String(chunk.data.length),
      [INSIDE.fileLength]: length,
      'content-digest': digest,
      ...this.#ownFields(),
      ...this.#options.auth.signAnswer(req, ['200', digest, length]),
    });
    chunk.retain();
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      // The exchange may end before the write does: the system may still read the memory.
      writeLoaned(res, chunk.data, () => {
        chunk.release();
        resolve();
      });
    });
    if (!signal.aborted) res.end();
  }

  /** While a chunk is waited for, hedges its fetch and tells the other node how far it is. */
  #watch(res: ServerResponse, request: ChunkRequest, path: Path): () => void {
    const { chunks } = this.#options;
    const bytes = request.range.end - request.range.start;
    let told = -1;
    return this.#every(PROGRESS_INTERVAL_MS, () => {
      const come = Math.floor(chunks.share(request, path) * bytes);
      if (come > told) this.#interim(res, `${INSIDE.progress}: ${come}\r\n`);
      told = Math.max(told, come);
      chunks.hedge(request, path);
    });
  }

  /** Sends an interim response (RFC 9110 15.2): the request is being worked on. */
  #interim(res: ServerResponse, fields: string): void {
    if (!res.headersSent && !res.destroyed) {
      res.socket?.write(`HTTP/1.1 102 Processing\r\n${fields}\r\n`, 'latin1');
    }
  }

  #every(ms: Millis, act: () => void): () => void {
    const timer = setInterval(act, ms);
    return () => clearInterval(timer);
  }

  #ownFields(): Record<string, string> {
    const { name, load } = this.#options;
    return { via: viaItem(name), [INSIDE.load]: String(load()) };
  }
}
