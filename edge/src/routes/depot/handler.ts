/**
 * Requests of the depot: admission, the owner or the capability, then the handler of the method.
 * Targets hold secrets: logs, figures and errors show the id of an allocation only.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { MemoryAccount } from '@millrace/shared/cdn/admission/memory-account';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { PARTIAL_UPLOAD } from '@millrace/shared/http/fields/upload-fields';
import {
  DEPOT_PATH,
  type DepotLink,
  type DepotTarget,
  formatDepotLink,
  hideSecrets,
  parseDepotTarget,
} from '@millrace/shared/http/urls/depot-link';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import type { OnRefusal } from '../../admission/admissions.ts';
import type { ClientLimits } from '../../admission/client-limits.ts';
import {
  canAnswer,
  connectionOf,
  isComplete,
  onStall,
  resetResponse,
} from '../../clients/connection.ts';
import type { Exchange, Exchanges } from '../../clients/exchanges.ts';
import type { ClientReaper } from '../../clients/reaper.ts';
import { recordTransfer } from '../../clients/transfer-record.ts';
import type { Allocation } from '../../depot/allocation.ts';
import type { ClientUse } from '../../depot/client-use.ts';
import type { Metrics } from '../../figures/metrics.ts';
import type { ClientAddress } from '../../policy/client-address.ts';
import { readBlockBytes, sendBlocks } from './blocks.ts';
import { type DepotParts, type DepotRequest, sendJson, uploadLimits } from './depot-request.ts';
import { sendStored } from './download.ts';
import { answerOptions, DEPOT_FIELDS, depotProblem, refuse } from './replies.ts';
import { RequestBody } from './request-body.ts';
import { readChange, readPathName } from './requests.ts';
import { create, patch, put, showState } from './uploads.ts';

export interface DepotHandlerOptions extends DepotParts {
  readonly limits: ClientLimits;
  readonly use: ClientUse;
  readonly clientAddress: ClientAddress;
  readonly reaper: ClientReaper;
  readonly account: MemoryAccount;
  readonly transfers: Exchanges;
  readonly onRefusal: OnRefusal;
  readonly metrics: Metrics;
  /** Longest lease. */
  readonly maxLeaseMs: Millis;
  readonly log: Log;
}

/** Methods by the kind of target. */
const METHODS: Readonly<Record<DepotTarget['kind'], readonly string[]>> = {
  create: ['POST', 'OPTIONS'],
  put: ['PUT', 'OPTIONS'],
  read: ['GET', 'HEAD', 'OPTIONS'],
  write: ['HEAD', 'PATCH', 'OPTIONS'],
  manage: ['GET', 'PATCH', 'DELETE', 'OPTIONS'],
};
const USUAL_LEASE_MS: Millis = 7 * 86_400_000;
/** Longest body of a change. */
const CHANGE_BYTES = 4096;

export class DepotHandler {
  readonly #options: DepotHandlerOptions;

  constructor(options: DepotHandlerOptions) {
    this.#options = options;
  }

  /**
   * Answers a request; never rejects.
   *
   * @param target the raw request target
   */
  async handle(req: IncomingMessage, res: ServerResponse, target: string): Promise<void> {
    const { clientAddress, limits, transfers, now } = this.#options;
    const client = clientAddress.of(req.socket.remoteAddress, req.headers);
    const clientKey = clientAddress.keyOf(client);
    for (const [name, value] of Object.entries(DEPOT_FIELDS)) res.setHeader(name, value);
    const parsed = parseDepotTarget(target);
    const allow = parsed === undefined ? '' : METHODS[parsed.kind].join(', ');
    let exchange: Exchange;
    try {
      this.#admit(client);
      exchange = {
        ...{ req, res, client, clientKey, kind: 'depot', url: undefined, aware: false },
        ...{ controller: new AbortController(), startedAt: now(), sentBytes: 0, bodyBytes: 0 },
        admission: limits.admit(client, now()),
      };
    } catch (thrown) {
      const error = asMillraceError(thrown);
      this.#options.metrics.errors.inc({ code: error.code });
      return refuse(req, res, depotProblem(error, allow, undefined));
    }
    this.#watch(exchange);
    transfers.add(exchange);
    const leaseOf = (owner: Owner) =>
      Math.min(USUAL_LEASE_MS, this.#options.maxLeaseMs, owner.forMs);
    const { use } = this.#options;
    const request: DepotRequest = {
      ...{ req, res, exchange, options: this.#options, use, about: undefined, leaseOf },
    };
    let failure: MillraceError | undefined;
    try {
      if (parsed === undefined) throw new MillraceError('no-such-page');
      await this.#answer(request, parsed, allow);
    } catch (error) {
      failure = this.#failed(request, allow, error);
    } finally {
      exchange.admission.release(now());
      recordTransfer(this.#options, exchange, { target: shownTarget(target) }, failure);
      transfers.delete(exchange);
    }
  }

  /** @throws MillraceError `draining`, `out-of-memory` */
  #admit(client: string): void {
    const { account, transfers, limits, onRefusal } = this.#options;
    if (transfers.draining) throw new MillraceError('draining', '', { retryAfterMs: 1000 });
    if (account.excess <= 0) return;
    if (!account.refuses(transfers.running, limits.transfersOf(client))) return;
    onRefusal('memory', 'refused', client);
    throw new MillraceError('out-of-memory', '', { retryAfterMs: 1000 });
  }

  async #answer(request: DepotRequest, target: DepotTarget, allow: string): Promise<void> {
    const { req, res } = request;
    const method = req.method ?? '';
    if (!METHODS[target.kind].includes(method)) throw new MillraceError('method-refused');
    if (method === 'OPTIONS') {
      const maxAge = Math.floor(this.#options.maxLeaseMs / 1000);
      // An upload's own limits are nobody's business without its capability.
      const limits = target.kind === 'create' ? { maxSize: undefined, maxAge } : undefined;
      const takes = target.kind === 'create' || target.kind === 'write';
      return answerOptions(res, allow, takes ? PARTIAL_UPLOAD : undefined, limits);
    }
    if (target.kind === 'create') return create(request, this.#owner(request), target.query);
    if (target.kind === 'put') {
      const owner = this.#owner(request);
      return put(request, owner, readPathName(target.name), target.query);
    }
    const allocation = this.#find(request, target);
    if (target.kind === 'read') return sendStored(this.#options, request.exchange, allocation);
    request.about = { allocation };
    if (target.kind === 'manage') return this.#manage(request, allocation, target.query ?? '');
    return method === 'HEAD' ? showState(request, allocation) : patch(request, allocation);
  }

  async #manage(request: DepotRequest, allocation: Allocation, query: string): Promise<void> {
    const { req, res, exchange } = request;
    const { depot, now } = this.#options;
    if (req.method === 'DELETE') {
      await depot.release(allocation);
      res.writeHead(204).end();
      return;
    }
    if (req.method === 'PATCH') {
      const body = new RequestBody(req, res, exchange.controller.signal, now);
      const { seconds, bytes } = readChange(await body.text(CHANGE_BYTES));
      await depot.change(allocation, {
        forMs: seconds === undefined ? undefined : seconds * 1000,
        bytes,
      });
    }
    const { id, owner, bytes, expiresAt, name, type, final, damaged } = allocation.head;
    const { offset, isComplete: complete } = allocation;
    const expires = new Date(expiresAt).toISOString();
    const state = {
      ...{ id, owner, name, type, bytes, expires, offset, complete },
      ...{ sha256: final?.sha256, damaged: damaged ?? false },
    };
    const blockBytes = req.method === 'GET' ? readBlockBytes(query, offset) : undefined;
    if (blockBytes === undefined) sendJson(res, 200, state);
    else await sendBlocks(request, allocation, blockBytes, state);
  }

  /** Finds the owner of a request. @throws MillraceError `owner-token-required` */
  #owner({ req, exchange }: DepotRequest): Owner {
    const { owners, use, now } = this.#options;
    const token = /^Bearer +([^\s]+)$/i.exec(req.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new MillraceError('owner-token-required');
    const owner = owners.withToken(token);
    if (owner !== undefined) return owner;
    use.onWrong(exchange.clientKey, now());
    throw new MillraceError('owner-token-required', 'this one is not known here');
  }

  /** Finds the allocation of a capability. @throws MillraceError as `Depot.find` */
  #find({ exchange }: DepotRequest, link: DepotLink): Allocation {
    const { depot, use, now } = this.#options;
    try {
      return depot.find(link);
    } catch (error) {
      if (isMillraceError(error, 'no-such-allocation')) use.onWrong(exchange.clientKey, now());
      throw error;
    }
  }

  /** Notices a client that leaves, and one that stays but takes nothing. */
  #watch({ req, res, controller }: Exchange): void {
    const { reaper, transfers } = this.#options;
    const connection = connectionOf(req, res);
    const left = (why: string) => controller.abort(new MillraceError('interrupted', why));
    res.once('close', () => {
      if (!isComplete(res)) left('client left');
    });
    const unwatch = reaper.watch(
      connection,
      () => res.headersSent,
      () => {
        left('the client has vanished');
        resetConnection(connection);
      },
    );
    res.once('close', unwatch);
    onStall(
      req,
      res,
      () => transfers.patienceMs,
      () => {
        if (res.writableLength > 0 && res.headersSent) left('the client takes nothing');
      },
    );
  }

  /** Answers with the problem, or resets a response that has begun. */
  #failed(request: DepotRequest, allow: string, thrown: unknown): MillraceError {
    const { req, res, exchange, about } = request;
    const error = asMillraceError(thrown);
    exchange.controller.abort(error);
    if (error.code === 'internal') {
      this.#options.log.error({ err: error.cause ?? error }, 'internal error');
    }
    // Another request continues, or nobody is there any more.
    if (canAnswer(res) && error.code !== 'interrupted') {
      const state = about && {
        offset: about.allocation.offset,
        complete: about.allocation.isComplete,
        limits: uploadLimits(request, about.allocation),
        stated: about.stated,
      };
      refuse(req, res, depotProblem(error, allow, state));
    } else if (!isComplete(res)) {
      this.#options.metrics.resets.inc({ code: error.code });
      resetResponse(res);
    }
    return error;
  }
}

/** Returns what may be shown of a target: the id of an allocation, and nothing that is malformed. */
function shownTarget(target: string): string {
  const parsed = parseDepotTarget(target);
  if (parsed === undefined) return `${DEPOT_PATH}…`;
  if (parsed.kind === 'create') return DEPOT_PATH;
  if (parsed.kind === 'put') return `${DEPOT_PATH}/…`;
  return hideSecrets(formatDepotLink(parsed));
}
