/**
 * Prefixed URLs: the way of a client's request through the node. Policy first, then the version of
 * the file, then the answer, then the body from chunks or through a tunnel.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { MemoryAccount } from '@millrace/shared/cdn/memory-account';
import { type CacheOutcome, formatCacheStatus } from '@millrace/shared/http/cache-status';
import { readDemands } from '@millrace/shared/http/freshness';
import { listField } from '@millrace/shared/http/headers';
import { resumesOnReset } from '@millrace/shared/http/prefer';
import { parsePrefixedTarget } from '@millrace/shared/http/prefixed-url';
import { parseSignedTarget, SIGNED_PATH } from '@millrace/shared/http/signed-link';
import { namesInVia, viaItem } from '@millrace/shared/http/via';
import type { OnRefusal } from '../admission/admissions.ts';
import type { FileResolver } from '../agent/file-resolver.ts';
import { tunnelRequestHeaders } from '../agent/tunnel.ts';
import {
  canAnswer,
  connectionOf,
  isComplete,
  onStall,
  resetConnection,
  resetResponse,
} from '../clients/connection.ts';
import type { ClientPurger } from '../clients/purger.ts';
import type { OriginClient } from '../egress/origin-client.ts';
import { INGRESS } from '../peers/path.ts';
import type { ClientAddress } from '../policy/client-address.ts';
import type { Admission, ClientLimits } from '../policy/client-limits.ts';
import type { LocalAccess } from '../policy/local-access.ts';
import { type OriginUse, together } from '../policy/origin-use.ts';
import type { Scope } from '../policy/policy.ts';
import { problemReply } from './problem-reply.ts';
import { type SendFileOptions, sendFile } from './send-file.ts';
import { type SendTunnelledOptions, sendTunnelled } from './send-tunnelled.ts';
import type { Exchange, Transfers } from './transfers.ts';

export interface PrefixedOptions extends SendFileOptions, SendTunnelledOptions {
  readonly defaultScheme: 'http' | 'https';
  readonly limits: ClientLimits;
  readonly originUse: OriginUse;
  readonly clientAddress: ClientAddress;
  readonly localAccess: LocalAccess | undefined;
  readonly resolver: FileResolver;
  readonly client: OriginClient;
  readonly purger: ClientPurger;
  readonly account: MemoryAccount;
  readonly onRefusal: OnRefusal;
  /** Requests under way. */
  readonly transfers: Transfers;
  readonly log: Log;
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
      this.#checkMemory(client);
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
      clientKey: clientAddress.keyOf(client),
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

  /** @throws MillraceError `out-of-memory` */
  #checkMemory(client: string): void {
    const { account, transfers, limits, onRefusal } = this.#o;
    if (account.excess <= 0) return;
    if (!account.refuses(transfers.running, limits.transfersOf(client))) return;
    onRefusal('memory', 'refused', client);
    throw new MillraceError('out-of-memory', '', { retryAfterMs: 1000 });
  }

  async #answer(exchange: Exchange, target: string): Promise<void> {
    const { req } = exchange;
    const { policy, resolver, localAccess, name } = this.#o;
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new MillraceError('method-not-allowed');
    if (!target.startsWith('/')) throw new MillraceError('not-a-proxy');
    const scope: Scope = localAccess?.scope(req.headers) ?? 'public';
    if (req.headers['x-bigfile'] !== undefined) throw new MillraceError('inside-request-refused');
    if (namesInVia(listField(req.headers, 'via')).includes(name.toLowerCase())) {
      throw new MillraceError('loop-detected', name);
    }
    const url = this.#admit(exchange, target, scope);
    const demands = policy.demands(url, readDemands(req.headers));
    const { grant, clientKey: askedFor } = exchange;
    const path = { ...INGRESS, grant, client: askedFor };
    const { signal } = exchange.controller;
    let resolution = await resolver.resolve(url, scope, demands, signal, path);
    if (resolution.kind === 'file') {
      try {
        return await sendFile(this.#o, exchange, resolution.pointer, resolution.outcome);
      } catch (error) {
        if (!isMillraceError(error, 'version-changed') || exchange.res.headersSent) throw error;
      }
      // The client has seen nothing of the old version yet: it gets the new one.
      const anew = { ...demands, revalidate: true };
      resolution = await resolver.resolve(url, scope, anew, signal, path);
      if (resolution.kind === 'file') {
        return sendFile(this.#o, exchange, resolution.pointer, resolution.outcome);
      }
    }
    exchange.kind = 'tunnel';
    const response =
      resolution.take() ??
      (await this.#o.client.open({
        url,
        scope,
        grant,
        client: askedFor,
        headers: tunnelRequestHeaders(req.headers),
        signal,
      }));
    return sendTunnelled(this.#o, exchange, response, resolution.reason);
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
    const use = originUse.admit(url, policy.rule(url), exchange.client, now());
    exchange.admission = together(exchange.admission, use);
    return url;
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
    // A connection takes memory as well.
    if (error.code === 'out-of-memory') res.shouldKeepAlive = false;
    const outcome: CacheOutcome = { hit: false, fwd: 'bypass', detail: error.code };
    res.writeHead(status, {
      ...headers,
      via: viaItem(this.#o.name),
      'cache-status': formatCacheStatus(this.#o.name, outcome),
    });
    res.end(body);
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
