/**
 * Prefixed URLs: the way of a client's request through the node. Policy first, then the version of
 * the file, then the answer, then the body from chunks or through a tunnel.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { decideAnswer } from '@millrace/shared/http/answer';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/cache-status';
import { currentAge, readDemands } from '@millrace/shared/http/freshness';
import { listField } from '@millrace/shared/http/headers';
import { KNOWN_DIGEST, readKnownDigest } from '@millrace/shared/http/known-digest';
import { resumesOnReset } from '@millrace/shared/http/prefer';
import { parsePrefixedTarget } from '@millrace/shared/http/prefixed-url';
import { parseSignedTarget, SIGNED_PATH } from '@millrace/shared/http/signed-link';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { Delivery } from '../agent/delivery.ts';
import type { FileResolver } from '../agent/file-resolver.ts';
import { type BodyPlan, responseHead } from '../agent/response-head.ts';
import { pipeTunnel, tunnelHead, tunnelRequestHeaders } from '../agent/tunnel.ts';
import type { ChunkStore, Found } from '../cache/chunk-store.ts';
import type { FileVersion, Pointer } from '../cache/file-version.ts';
import {
  canAnswer,
  connectionOf,
  isComplete,
  onStall,
  resetConnection,
  resetResponse,
} from '../clients/connection.ts';
import type { ClientPurger } from '../clients/purger.ts';
import { checkDeclared } from '../egress/content-check.ts';
import type { OriginClient } from '../egress/origin-client.ts';
import type { OriginRecords } from '../egress/origin-records.ts';
import type { Metrics } from '../metrics.ts';
import { INGRESS } from '../peers/path.ts';
import type { ClientAddress } from '../policy/client-address.ts';
import type { Admission, ClientLimits } from '../policy/client-limits.ts';
import type { LocalAccess } from '../policy/local-access.ts';
import { type OriginUse, together } from '../policy/origin-use.ts';
import type { OriginPolicy, Scope } from '../policy/policy.ts';
import { problemReply } from './problem-reply.ts';
import type { Exchange, Transfers } from './transfers.ts';

export interface PrefixedOptions {
  readonly name: string;
  readonly chunkBytes: number;
  readonly defaultScheme: 'http' | 'https';
  readonly policy: OriginPolicy;
  readonly limits: ClientLimits;
  readonly originUse: OriginUse;
  readonly clientAddress: ClientAddress;
  readonly localAccess: LocalAccess | undefined;
  readonly resolver: FileResolver;
  readonly chunks: ChunkStore;
  readonly client: OriginClient;
  readonly purger: ClientPurger;
  readonly records: OriginRecords;
  /** Requests under way. */
  readonly transfers: Transfers;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Told of each chunk that goes to a client: its index and bytes. */
  readonly onChunk?: ((version: FileVersion, index: number, bytes: number) => void) | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly random: Random;
  /** False while memory for chunks is short. */
  readonly spare: () => boolean;
}

export class PrefixedHandler {
  readonly #o: PrefixedOptions;

  constructor(options: PrefixedOptions) {
    this.#o = options;
  }

  /**
   * Answers a request; never rejects.
   *
   * @param target the raw request target
   */
  async handle(req: IncomingMessage, res: ServerResponse, target: string): Promise<void> {
    const { limits, clientAddress, now } = this.#o;
    // Asked now: afterwards the connection may be gone.
    const client = clientAddress.of(req.socket.remoteAddress, req.headers);
    let admission: Admission;
    try {
      if (this.#o.transfers.draining)
        throw new MillraceError('draining', '', { retryAfterMs: 1000 });
      admission = limits.admit(client, now());
    } catch (thrown) {
      const error = asMillraceError(thrown);
      this.#o.metrics.requests.inc({ kind: 'error', status: String(error.row.status) });
      this.#o.metrics.errors.inc({ code: error.code });
      return this.#refuse(res, error);
    }
    const exchange: Exchange = {
      req,
      res,
      client,
      admission,
      controller: new AbortController(),
      startedAt: now(),
      kind: 'error',
      url: undefined,
      sentBytes: 0,
      bodyBytes: 0,
      aware: resumesOnReset(listField(req.headers, 'prefer')),
    };
    this.#watch(exchange);
    this.#o.transfers.add(exchange);
    let failure: MillraceError | undefined;
    try {
      await this.#answer(exchange, target);
    } catch (error) {
      failure = this.#failed(exchange, error);
    } finally {
      exchange.admission.release(now());
      this.#record(exchange, failure);
      this.#o.transfers.delete(exchange);
    }
  }

  async #answer(exchange: Exchange, target: string): Promise<void> {
    const { req } = exchange;
    const { policy, resolver, localAccess, name } = this.#o;
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new MillraceError('method-not-allowed');
    if (!target.startsWith('/')) throw new MillraceError('not-a-proxy');
    const scope: Scope = localAccess?.scope(req.headers) ?? 'public';
    if (req.headers['x-bigfile'] !== undefined) throw new MillraceError('inside-request-refused');
    if (viaNames(listField(req.headers, 'via')).includes(name.toLowerCase())) {
      throw new MillraceError('loop-detected', name);
    }
    const url = this.#admit(exchange, target, scope);
    const demands = policy.demands(url, readDemands(req.headers));
    const { grant } = exchange;
    const path = grant === undefined ? INGRESS : { ...INGRESS, grant };
    const { signal } = exchange.controller;
    let resolution = await resolver.resolve(url, scope, demands, signal, path);
    if (resolution.kind === 'file') {
      try {
        return await this.#sendFile(exchange, resolution.pointer, resolution.outcome);
      } catch (error) {
        if (!isMillraceError(error, 'version-changed') || exchange.res.headersSent) throw error;
      }
      // The client has seen nothing of the old version yet: it gets the new one.
      const anew = { ...demands, revalidate: true };
      resolution = await resolver.resolve(url, scope, anew, signal, path);
      if (resolution.kind === 'file') {
        return this.#sendFile(exchange, resolution.pointer, resolution.outcome);
      }
    }
    exchange.kind = 'tunnel';
    const response =
      resolution.take() ??
      (await this.#o.client.open({
        url,
        scope,
        grant,
        headers: tunnelRequestHeaders(req.headers),
        signal,
      }));
    return this.#sendTunnelled(exchange, response, resolution.reason);
  }

  /** Reads the target and holds it to the policy. @returns the origin URL */
  #admit(exchange: Exchange, target: string, scope: Scope): URL {
    const { policy, originUse, defaultScheme, wallClock, now } = this.#o;
    if (target.startsWith(SIGNED_PATH)) {
      if (!policy.takesLinks) throw new MillraceError('no-such-page');
      const { permit, url } = parseSignedTarget(target, { defaultScheme });
      exchange.url = url;
      exchange.grant = policy.grant(permit, url, wallClock());
    }
    const url = exchange.url ?? parsePrefixedTarget(target, { defaultScheme });
    exchange.url = url;
    policy.check(url, scope, exchange.grant);
    const use = originUse.admit(url, policy.rule(url), now());
    exchange.admission = together(exchange.admission, use);
    return url;
  }

  async #sendFile(exchange: Exchange, pointer: Pointer, outcome: CacheOutcome): Promise<void> {
    const { req, res } = exchange;
    const { version } = pointer;
    const { policy, chunkBytes } = this.#o;
    exchange.kind = 'file';
    const first = Math.min(chunkBytes, version.length);
    if (bringsFirstChunk(outcome)) exchange.admission.fetched(first);
    // What is known already may be from a time, or of a request, for which other rules held.
    policy.check(new URL(pointer.finalUrl), version.scope, exchange.grant);
    policy.checkFile(pointer);
    const answer = decideAnswer(req.method ?? 'GET', req.headers, version);
    if (answer.kind === 'precondition-failed') throw new MillraceError('precondition-failed');
    if (answer.kind === 'unsatisfiable') {
      res.setHeader('content-range', `bytes */${version.length}`);
      throw new MillraceError('range-not-satisfiable', `the file has ${version.length} bytes`);
    }
    const boundary = () => randomBytes(16).toString('hex');
    const head = responseHead(answer, version, this.#o.chunkBytes, boundary);
    // Caches on the way to the client must not give its content to those who ask for other.
    if (version.digest !== undefined) head.headers.vary = KNOWN_DIGEST;
    const age = currentAge(pointer.freshness, this.#o.wallClock());
    Object.assign(head.headers, this.#ownFields(), { age: String(Math.floor(age / 1000)) });
    exchange.bodyBytes = head.body?.slices.bytes ?? 0;
    if (head.body === undefined || req.method === 'HEAD') {
      head.headers['cache-status'] = formatCacheStatus(this.#o.name, outcome);
      res.writeHead(head.status, head.headers).end();
      return;
    }
    await this.#deliver(exchange, pointer, head.body, async (found) => {
      const whole = found.chunk.data.length;
      if (head.body?.slices.count === 1 && head.headers['content-length'] === String(whole)) {
        const digest = (await found.chunk.digest()).toString('base64');
        head.headers['content-digest'] = `sha-256=:${digest}:`;
      }
      head.headers['cache-status'] = formatCacheStatus(this.#o.name, withChunk(outcome, found));
      res.writeHead(head.status, head.headers);
    });
    if (head.body.parts !== undefined) res.write(head.body.parts.end, 'latin1');
    await ended(res);
  }

  #deliver(
    exchange: Exchange,
    { version, finalUrl }: Pointer,
    plan: BodyPlan,
    begin: (first: Found) => Promise<void>,
  ): Promise<void> {
    const { chunks, chunkBytes, metrics, now, random, spare } = this.#o;
    return new Delivery({
      res: exchange.res,
      version,
      directUrl: finalUrl === version.url ? undefined : finalUrl,
      grant: exchange.grant,
      plan,
      chunkBytes,
      store: chunks,
      signal: exchange.controller.signal,
      admission: exchange.admission,
      now,
      random,
      spare,
      begin,
      observe: {
        chunk: (found, index) => {
          metrics.chunks.inc({ tier: found.tier });
          this.#o.onChunk?.(version, index, found.chunk.data.length);
          if (found.joined) metrics.joins.inc();
        },
        retry: () => metrics.retries.inc(),
        window: (chunksInWindow) => metrics.window.observe(chunksInWindow),
        sent: (bytes) => {
          exchange.sentBytes += bytes;
          metrics.sentToClient(bytes);
        },
      },
    }).run();
  }

  async #sendTunnelled(exchange: Exchange, response: HttpResponse, reason: string): Promise<void> {
    const { req, res, controller, url = response.url } = exchange;
    const { metrics, policy, records, chunkBytes, now } = this.#o;
    const discard = () => {
      response.discard();
      // Of what the origin has begun to send.
      exchange.admission.fetched(Math.min(chunkBytes, contentLength(response) ?? chunkBytes));
    };
    let head: ReturnType<typeof tunnelHead>;
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
    exchange.bodyBytes = Number(head.headers['content-length'] ?? 0);
    const outcome: CacheOutcome = {
      hit: false,
      fwd: 'bypass',
      fwdStatus: response.status,
      detail: reason,
    };
    res.writeHead(head.status, {
      ...head.headers,
      ...this.#ownFields(),
      'cache-status': formatCacheStatus(this.#o.name, outcome),
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
      // Of a file whose length nobody knew.
      if (exchange.sentBytes > maxFileSize) controller.abort(new MillraceError('file-too-large'));
    };
    await pipeTunnel(response, res, { admission, signal: controller.signal, now, onBytes });
    await ended(res);
  }

  /** Notices the client leaving, and one that stays but takes nothing. */
  #watch({ req, res, controller }: Exchange): void {
    const connection = connectionOf(req, res);
    res.once('close', () => {
      if (!isComplete(res)) controller.abort(new MillraceError('interrupted', 'client left'));
    });
    const vanished = () => {
      controller.abort(new MillraceError('interrupted', 'the client has vanished'));
      resetConnection(connection);
    };
    // From the header on: what Node has handed on the kernel may still hold.
    res.once(
      'close',
      this.#o.purger.watch(connection, () => res.headersSent, vanished),
    );
    onStall(
      req,
      res,
      () => this.#o.transfers.patienceMs,
      () => {
        // Without anything to write it is the origin that is waited for, which has its own limits.
        if (res.writableLength === 0 || !res.headersSent) return;
        controller.abort(new MillraceError('interrupted', 'the client takes nothing'));
      },
    );
  }

  /** Answers with the problem, or resets the connection where the body has begun. */
  #failed(exchange: Exchange, thrown: unknown): MillraceError {
    const { res, controller } = exchange;
    const error = asMillraceError(thrown);
    controller.abort(error);
    if (isMillraceError(error, 'internal')) {
      this.#o.log.error({ err: error.cause ?? error }, 'internal error');
    }
    if (canAnswer(res)) {
      exchange.kind = 'error';
      this.#refuse(res, error);
    } else if (!isComplete(res)) {
      // Anything but a reset could be taken for the end of the file.
      this.#o.metrics.resets.inc({ code: error.code });
      resetResponse(res);
    }
    return error;
  }

  #refuse(res: ServerResponse, error: MillraceError): void {
    const { status, headers, body } = problemReply(error);
    const outcome: CacheOutcome = { hit: false, fwd: 'bypass', detail: error.code };
    res.writeHead(status, {
      ...headers,
      ...this.#ownFields(),
      'cache-status': formatCacheStatus(this.#o.name, outcome),
    });
    res.end(body);
  }

  #ownFields(): Record<string, string> {
    return { via: `1.1 ${this.#o.name}` };
  }

  #record(exchange: Exchange, failure: MillraceError | undefined): void {
    const { metrics, log, now } = this.#o;
    const { res, req, client, kind, url, sentBytes, startedAt } = exchange;
    metrics.requests.inc({ kind, status: String(res.statusCode) });
    if (failure !== undefined) metrics.errors.inc({ code: failure.code });
    log.info(
      {
        client,
        method: req.method,
        // A query may hold secrets: signed links, tokens.
        url: url === undefined ? undefined : `${url.origin}${url.pathname}`,
        range: req.headers.range,
        status: res.headersSent ? res.statusCode : undefined,
        kind,
        bytes: sentBytes,
        ms: Math.round(now() - startedAt),
        ...(failure === undefined ? {} : { code: failure.code, detail: failure.detail }),
      },
      failure === undefined ? 'transfer' : 'transfer failed',
    );
  }
}

/** Cache-Status describes the response as a whole: a hit only if its first chunk was one too. */
function withChunk(outcome: CacheOutcome, first: Found): CacheOutcome {
  if (first.tier === 'memory' || first.tier === 'disk') return outcome;
  if (first.tier === 'peer') return { hit: false, fwd: 'miss', detail: 'peer' };
  if (!outcome.hit) return { ...outcome, stored: true };
  return { hit: false, fwd: 'miss', stored: true, ...(first.joined ? { collapsed: true } : {}) };
}

/** True where the first chunk has been fetched to learn which version is current. */
function bringsFirstChunk(outcome: CacheOutcome): boolean {
  if (outcome.hit || outcome.collapsed === true) return false;
  return outcome.stored === true || (outcome.detail === 'peer' && outcome.fwd === 'uri-miss');
}

function contentLength({ headers }: HttpResponse): number | undefined {
  const length = Number(listField(headers, 'content-length') ?? Number.NaN);
  return length >= 0 ? length : undefined;
}

function viaNames(via: string | undefined): string[] {
  return (via ?? '')
    .toLowerCase()
    .split(',')
    .map((item) => item.trim().split(/\s+/)[1] ?? '');
}

function ended(res: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    res.once('close', () => {
      if (isComplete(res)) resolve();
      else reject(new MillraceError('interrupted', 'client left'));
    });
    res.end(() => resolve());
  });
}
