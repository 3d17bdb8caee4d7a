/**
 * Prefixed URLs: the way of a client's request through the node. Policy first, then the version of
 * the file, then the answer, then the body from chunks or through a tunnel.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { MemoryAccount } from '@millrace/shared/cdn/admission/memory-account';
import { bringsFirstChunk } from '@millrace/shared/cdn/chunks/cache-outcome';
import { asksForFile, isPreflight } from '@millrace/shared/http/answers/cross-origin';
import { type RequestDemands, readDemands } from '@millrace/shared/http/answers/freshness';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/fields/cache-status';
import { listField } from '@millrace/shared/http/fields/headers';
import { resumesOnReset } from '@millrace/shared/http/fields/prefer';
import { namesInVia, viaItem } from '@millrace/shared/http/fields/via';
import { hideSecrets } from '@millrace/shared/http/urls/depot-link';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import type { OnRefusal } from '../admission/admissions.ts';
import type { Admission, ClientLimits } from '../admission/client-limits.ts';
import { type OriginUse, together } from '../admission/origin-use.ts';
import type { FileResolver } from '../agent/file-resolver.ts';
import type { Resolution } from '../agent/origin-version.ts';
import { settled } from '../agent/settled.ts';
import { isAnsweredBy, tunnelHead } from '../agent/tunnel.ts';
import {
  canAnswer,
  connectionOf,
  isComplete,
  onStall,
  resetResponse,
} from '../clients/connection.ts';
import type { Exchange, Exchanges } from '../clients/exchanges.ts';
import type { ClientReaper } from '../clients/reaper.ts';
import { beginSpan } from '../clients/trace.ts';
import { recordTransfer } from '../clients/transfer-record.ts';
import { begunBytes } from '../egress/answer-error.ts';
import type { OriginClient, OriginRequest } from '../egress/origin-client.ts';
import type { Scope } from '../files/file-version.ts';
import { INGRESS } from '../files/path.ts';
import { problemReply } from '../listen/problem-reply.ts';
import type { ClientRtts } from '../near/client-rtts.ts';
import type { LocalAccess } from '../policy/local-access.ts';
import { interimTo } from './send/interim.ts';
import { openTunnel } from './send/open-tunnel.ts';
import { allowPages, sendPreflight, sendRuledPreflight } from './send/other-sites.ts';
import { readTarget } from './send/read-target.ts';
import { asksForRegistry, sendRegistry } from './send/registry.ts';
import { sendAnswer } from './send/send-answer.ts';
import type { SendFileOptions } from './send/send-file.ts';
import { type SendTunnelledOptions, sendTunnelled } from './send/send-tunnelled.ts';
import { sendVersion } from './send/send-version.ts';

export interface PrefixedOptions extends SendFileOptions, SendTunnelledOptions {
  readonly defaultScheme: 'http' | 'https';
  readonly limits: ClientLimits;
  readonly originUse: OriginUse;
  readonly clientAddress: ClientAddress;
  readonly clientRtts: ClientRtts;
  readonly localAccess: LocalAccess | undefined;
  readonly resolver: FileResolver;
  readonly client: OriginClient;
  readonly reaper: ClientReaper;
  readonly account: MemoryAccount;
  readonly onRefusal: OnRefusal;
  /** Called when an exchange has ended. */
  readonly onEnded: ((exchange: Exchange, failure?: MillraceError) => void) | undefined;
  /** Requests under way. */
  readonly transfers: Exchanges;
  readonly log: Log;
  readonly traces: 'off' | 'read' | 'make';
}

export class PrefixedHandler {
  readonly #options: PrefixedOptions;

  constructor(options: PrefixedOptions) {
    this.#options = options;
  }

  /**
   * Answers a request; never rejects.
   *
   * @param target the raw request target
   */
  async handle(req: IncomingMessage, res: ServerResponse, target: string): Promise<void> {
    const { limits, clientAddress, now } = this.#options;
    // Read now: afterwards the connection may be gone.
    const client = clientAddress.of(req.socket.remoteAddress, req.headers);
    let admission: Admission;
    try {
      if (this.#options.transfers.draining)
        throw new MillraceError('draining', '', { retryAfterMs: 1000 });
      this.#checkMemory(client);
      admission = limits.admit(client, now());
    } catch (thrown) {
      const error = asMillraceError(thrown);
      this.#options.metrics.requests.inc({ kind: 'error', status: String(error.row.status) });
      this.#options.metrics.errors.inc({ code: error.code });
      return this.#refuse(res, error, {});
    }
    this.#options.clientRtts.measure(req, res, client);
    const exchange: Exchange = {
      req,
      res,
      client,
      clientKey: clientAddress.keyOf(client),
      span: beginSpan(req.headers, this.#options.traces),
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
    this.#options.transfers.add(exchange);
    let failure: MillraceError | undefined;
    try {
      await this.#answer(exchange, target).catch((error: unknown) =>
        sendAnswer(this.#options, exchange, error),
      );
    } catch (error) {
      failure = this.#failed(exchange, error);
    } finally {
      exchange.admission.release(now());
      this.#record(exchange, failure);
      this.#options.transfers.delete(exchange);
    }
  }

  /** @throws MillraceError `out-of-memory` */
  #checkMemory(client: string): void {
    const { account, transfers, limits, onRefusal } = this.#options;
    if (account.excess <= 0) return;
    if (!account.refuses(transfers.running, limits.transfersOf(client))) return;
    onRefusal('memory', 'refused', client);
    throw new MillraceError('out-of-memory', '', { retryAfterMs: 1000 });
  }

  async #answer(exchange: Exchange, target: string): Promise<void> {
    const { req } = exchange;
    const { policy, resolver, localAccess, name } = this.#options;
    // The edge of one user lets no page of another site ask.
    const isAsked = localAccess === undefined && isPreflight(req.method, req.headers);
    if (req.method !== 'GET' && req.method !== 'HEAD' && !isAsked)
      throw new MillraceError('method-not-allowed');
    if (!target.startsWith('/')) throw new MillraceError('not-a-proxy');
    const scope: Scope = localAccess?.scope(req.headers) ?? 'public';
    exchange.scope = scope;
    if (req.headers['x-bigfile'] !== undefined) throw new MillraceError('inside-request-refused');
    if (namesInVia(listField(req.headers, 'via')).includes(name.toLowerCase())) {
      throw new MillraceError('loop-detected', name);
    }
    if (asksForRegistry(target)) return sendRegistry(exchange);
    const url = this.#admit(exchange, target, scope);
    const demands = policy.demands(url, readDemands(req.headers));
    const { grant, clientKey: askedFor, span } = exchange;
    const trace = span?.onward;
    const onInterim = interimTo(this.#options, exchange);
    const path = { ...INGRESS, grant, client: askedFor, trace, onInterim };
    const { signal } = exchange.controller;
    const { cors } = policy.rule(url);
    if (isAsked && cors !== undefined) return sendRuledPreflight(this.#options, exchange, cors);
    if (isAsked && !asksForFile(req.headers)) {
      return sendPreflight(this.#options, exchange, {}, { hit: false, fwd: 'bypass' });
    }
    const asksForPart = req.method === 'GET' && req.headers.range !== undefined;
    const resolve = async (wanted: RequestDemands) =>
      settled(await resolver.resolve(url, scope, wanted, signal, path), asksForPart);
    let resolution = await resolve(demands);
    const asked = { url, scope, grant, client: askedFor, trace, onInterim, signal };
    if (isAsked) return this.#allow(exchange, resolution, asked);
    if (resolution.kind === 'file') {
      try {
        return await sendVersion(this.#options, exchange, resolution);
      } catch (error) {
        if (!isMillraceError(error, 'version-changed') || exchange.res.headersSent) throw error;
      }
      // The client has seen nothing of the old version yet: it gets the new one.
      const anew = { ...demands, revalidate: true };
      resolution = await resolve(anew);
    }
    if (resolution.kind !== 'tunnel') return sendVersion(this.#options, exchange, resolution);
    exchange.kind = 'tunnel';
    const response =
      this.#taken(exchange, resolution) ??
      (await this.#openTunnel(exchange, asked, resolution.reason));
    return sendTunnelled(this.#options, exchange, response, resolution.reason);
  }

  /** Returns the answer that has told the version, if it is an answer to this request as well. */
  #taken(
    exchange: Exchange,
    { take }: Extract<Resolution, { kind: 'tunnel' }>,
  ): HttpResponse | undefined {
    const response = take();
    if (response === undefined || isAnsweredBy(response, exchange.req.headers)) return response;
    this.#discard(exchange, response);
    return undefined;
  }

  /** Answers a preflight by what the origin says with the file. */
  async #allow(
    exchange: Exchange,
    resolution: Resolution,
    asked: Omit<OriginRequest, 'method' | 'headers'>,
  ): Promise<void> {
    const { chunkBytes, records, now } = this.#options;
    if (resolution.kind === 'file') {
      exchange.kind = 'file';
      const { version } = resolution.pointer;
      if (bringsFirstChunk(resolution.outcome)) {
        exchange.admission.fetched(Math.min(chunkBytes, version.length));
      }
      return sendPreflight(this.#options, exchange, version.fields, resolution.outcome);
    }
    if (resolution.kind === 'stream') {
      const { pointer, outcome } = resolution;
      return sendPreflight(this.#options, exchange, pointer.version.fields, outcome);
    }
    exchange.kind = 'tunnel';
    const response =
      resolution.take() ?? (await this.#openTunnel(exchange, asked, resolution.reason));
    this.#discard(exchange, response);
    // Throws for answers without the file.
    tunnelHead(response, {}, records.pause(response.url), now());
    const { status: fwdStatus, headers } = response;
    const outcome = { hit: false, fwd: 'bypass', fwdStatus, detail: resolution.reason } as const;
    sendPreflight(this.#options, exchange, headers, outcome);
  }

  #openTunnel(
    exchange: Exchange,
    asked: Omit<OriginRequest, 'method' | 'headers'>,
    reason: string,
  ): Promise<HttpResponse> {
    const discard = (response: HttpResponse) => this.#discard(exchange, response);
    return openTunnel(this.#options.client, exchange.req, asked, reason, discard);
  }

  /** Gives a body up. The client is charged for the bytes of it that the origin has begun to send. */
  #discard({ admission }: Exchange, response: HttpResponse): void {
    const { chunkBytes, metrics } = this.#options;
    response.discard();
    const bytes = begunBytes(response, chunkBytes);
    admission.fetched(bytes);
    metrics.originBytes.inc(bytes);
  }

  /** Reads the target and checks it against the policy. @returns the origin URL */
  #admit(exchange: Exchange, target: string, scope: Scope): URL {
    const { policy, originUse, defaultScheme, wallClock, now } = this.#options;
    const { url: asked, permit } = readTarget(target, { policy, defaultScheme });
    const url = policy.named(asked);
    exchange.url = url;
    if (permit !== undefined) exchange.grant = policy.grantFor(permit, asked, wallClock());
    policy.check(url, scope, exchange.grant);
    const use = originUse.admit(url, policy.rule(url), exchange.client, now());
    exchange.admission = together(exchange.admission, use);
    return url;
  }

  /** Notices a client that leaves, and one that stays but takes nothing. */
  #watch({ req, res, controller }: Exchange): void {
    const connection = connectionOf(req, res);
    res.once('close', () => {
      if (!isComplete(res)) controller.abort(new MillraceError('interrupted', 'client left'));
    });
    const vanished = () => {
      controller.abort(new MillraceError('interrupted', 'the client has vanished'));
      resetConnection(connection);
    };
    // From the header on: the kernel may still hold bytes that Node has handed on.
    res.once(
      'close',
      this.#options.reaper.watch(connection, () => res.headersSent, vanished),
    );
    onStall(
      req,
      res,
      () => this.#options.transfers.patienceMs,
      () => {
        // With nothing to write, the response waits for the origin, which has limits of its own.
        if (res.writableLength === 0 || !res.headersSent) return;
        controller.abort(new MillraceError('interrupted', 'the client takes nothing'));
      },
    );
  }

  /** Answers with the problem, or resets a response that has begun. */
  #failed(exchange: Exchange, thrown: unknown): MillraceError {
    const { res, controller } = exchange;
    const error = asMillraceError(thrown);
    controller.abort(error);
    if (isMillraceError(error, 'internal')) {
      this.#options.log.error({ err: error.cause ?? error }, 'internal error');
    }
    if (canAnswer(res)) {
      exchange.kind = 'error';
      this.#refuse(res, error, allowPages(this.#options, exchange));
    } else if (!isComplete(res)) {
      // Anything but a reset could be taken for the end of the file.
      this.#options.metrics.resets.inc({ code: error.code });
      resetResponse(res);
    }
    return error;
  }

  /** @param more fields of the answer */
  #refuse(res: ServerResponse, error: MillraceError, more: Record<string, string>): void {
    const { status, headers, body } = problemReply(error);
    // A connection takes memory as well.
    if (error.code === 'out-of-memory') res.shouldKeepAlive = false;
    const { name } = this.#options;
    const outcome: CacheOutcome = { hit: false, fwd: 'bypass', detail: error.code };
    const own = { via: viaItem(name), 'cache-status': formatCacheStatus(name, outcome) };
    res.writeHead(status, { ...headers, ...more, ...own });
    res.end(body);
  }

  #record(exchange: Exchange, failure: MillraceError | undefined): void {
    const { url } = exchange;
    // A query may hold secrets: signed links, tokens. So may a path: links of depots.
    const shown = url && hideSecrets(`${url.origin}${url.pathname}`);
    recordTransfer(this.#options, exchange, { url: shown }, failure);
    this.#options.onEnded?.(exchange, failure);
  }
}
