/**
 * Requests of the depot: admission, the owner or the capability, then the handler of the method.
 * Targets hold secrets: logs, figures and errors show the id of an allocation only.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { MemoryAccount } from '@millrace/shared/cdn/admission/memory-account';
import { depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import { PARTIAL_UPLOAD } from '@millrace/shared/http/fields/upload-fields';
import {
  DEPOT_PATH,
  type DepotLink,
  type DepotTarget,
  formatDepotLink,
  hideSecrets,
  parseDepotTarget,
} from '@millrace/shared/http/urls/depot-link';
import { GUEST_PATH } from '@millrace/shared/http/urls/guest-link';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import type { OnRefusal } from '../../admission/admissions.ts';
import { ADMITTED, type ClientLimits } from '../../admission/client-limits.ts';
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
import type { ClientUse } from '../../depot/client-use.ts';
import type { Metrics } from '../../figures/metrics.ts';
import { guestPage } from '../../pages/guest-page.ts';
import { problemPage } from '../../pages/receive-page.ts';
import { type DepotRelay, RELAY_BYTES } from '../../relay/depot-relay.ts';
import { answerStored, findAllocation, isProspect } from './answer.ts';
import { type DepotParts, type DepotRequest, uploadLimits } from './depot-request.ts';
import { sendStored } from './download.ts';
import { findInNetwork, type NetworkFileOptions, sendFromNetwork } from './network-file.ts';
import { isOpened, sendPage } from './opened.ts';
import { answerOptions, DEPOT_FIELDS, depotProblem, refuse } from './replies.ts';
import { sendWhole, type WholeFileOptions } from './whole-file.ts';

export interface DepotHandlerOptions {
  /** This node's depot; undefined: it has none. */
  readonly own: DepotParts | undefined;
  /** Passes requests on to the process of this edge that has the depot; undefined: none has one. */
  readonly relay: DepotRelay | undefined;
  /** Files of other nodes' depots; undefined: there are none that it may ask. */
  readonly network: NetworkFileOptions | undefined;
  /** Files that lie on several depots. */
  readonly whole: WholeFileOptions;
  readonly limits: ClientLimits;
  readonly use: ClientUse;
  readonly clientAddress: ClientAddress;
  readonly reaper: ClientReaper;
  readonly account: MemoryAccount;
  readonly transfers: Exchanges;
  readonly onRefusal: OnRefusal;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Monotonic and Unix milliseconds. */
  readonly now: () => Millis;
  readonly wallClock: () => Millis;
}

/** Last part of the path of the page for guests. */
const GUEST_NAME = GUEST_PATH.slice(DEPOT_PATH.length + 1);
/** Methods by the kind of target. */
const METHODS: Readonly<Record<DepotTarget['kind'], readonly string[]>> = {
  create: ['GET', 'POST', 'OPTIONS'],
  put: ['PUT', 'OPTIONS'],
  read: ['GET', 'HEAD', 'OPTIONS'],
  file: ['GET', 'HEAD', 'OPTIONS'],
  write: ['HEAD', 'PATCH', 'PUT', 'OPTIONS'],
  pull: ['POST', 'OPTIONS'],
  manage: ['GET', 'PATCH', 'DELETE', 'OPTIONS'],
};

export class DepotHandler {
  readonly #options: DepotHandlerOptions;

  constructor(options: DepotHandlerOptions) {
    this.#options = options;
  }

  /**
   * Answers a request; never rejects.
   *
   * @param target the raw request target
   * @param relayedFor client of a request that another process of this edge has admitted
   */
  async handle(
    req: IncomingMessage,
    res: ServerResponse,
    target: string,
    relayedFor?: string,
  ): Promise<void> {
    const { clientAddress, limits, transfers, own, use, relay, now } = this.#options;
    const isRelayed = relayedFor !== undefined;
    const client = relayedFor ?? clientAddress.of(req.socket.remoteAddress, req.headers);
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
        ...{ isRelayed, admission: isRelayed ? ADMITTED : limits.admit(client, now()) },
      };
    } catch (thrown) {
      const error = asMillraceError(thrown);
      this.#options.metrics.errors.inc({ code: error.code });
      return refuse(req, res, depotProblem(error, allow, undefined));
    }
    this.#watch(exchange);
    transfers.add(exchange);
    const request: DepotRequest | undefined = own && {
      req,
      res,
      exchange,
      options: own,
      use,
      about: undefined,
    };
    let failure: MillraceError | undefined;
    let isPassed = false;
    try {
      if (parsed === undefined) throw new MillraceError('no-such-page');
      if (relay !== undefined && (await this.#isRelays(relay, parsed))) {
        isPassed = true;
        exchange.heldBytes = () => RELAY_BYTES;
        return await relay.pass(exchange, target);
      }
      await this.#answer(exchange, request, parsed, allow);
    } catch (error) {
      failure = this.#failed(exchange, error);
      // A person who has opened a link gets words, not a document for programs.
      if (
        (parsed?.kind === 'read' || parsed?.kind === 'file') &&
        canAnswer(res) &&
        failure.code !== 'interrupted' &&
        isOpened(req)
      ) {
        sendPage(exchange, failure.row.status, await problemPage(failure));
      } else this.#refuse(exchange, request, allow, failure);
    } finally {
      exchange.admission.release(now());
      // The other process records what it was asked.
      if (!isPassed || (failure !== undefined && failure.code !== 'interrupted')) {
        recordTransfer(this.#options, exchange, { target: shownTarget(target) }, failure);
      }
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

  async #answer(
    exchange: Exchange,
    request: DepotRequest | undefined,
    target: DepotTarget,
    allow: string,
  ): Promise<void> {
    const { req, res } = exchange;
    // Other nodes' depots are here to be read only.
    const isReading = target.kind === 'read' || target.kind === 'file';
    if (request === undefined && !isReading) throw new MillraceError('no-such-page');
    const method = req.method ?? '';
    // The page for guests: a link to it names spaces in its fragment only.
    if (target.kind === 'put' && target.name === GUEST_NAME && method === 'GET') {
      return sendPage(exchange, 200, await guestPage());
    }
    if (!METHODS[target.kind].includes(method) && !isProspect(target, method))
      throw new MillraceError('method-refused');
    if (method === 'OPTIONS') {
      const takes = target.kind === 'create' || target.kind === 'write';
      // An upload's own limits are nobody's business without its capability.
      const limits =
        target.kind === 'create' && request !== undefined
          ? { maxSize: undefined, maxAge: Math.floor(request.options.maxLeaseMs / 1000) }
          : undefined;
      return answerOptions(res, allow, takes ? PARTIAL_UPLOAD : undefined, limits);
    }
    await request?.options.depot.ready(exchange.controller.signal);
    if (target.kind === 'file') return this.#sendWhole(exchange, request, target);
    if (target.kind === 'read' && !this.#isHere(target.id)) {
      return this.#readElsewhere(exchange, target);
    }
    if (request === undefined) throw new MillraceError('no-such-page');
    if (target.kind === 'read') {
      const allocation = findAllocation(request, target);
      const { use, metrics, now, wallClock } = this.#options;
      const { depot } = request.options;
      return sendStored({ depot, use, metrics, now, wallClock }, exchange, allocation);
    }
    return answerStored(request, target);
  }

  /** Returns true for targets that the process with the depot answers: all but other depots' files. */
  async #isRelays(relay: DepotRelay, target: DepotTarget): Promise<boolean> {
    const { network } = this.#options;
    if (target.kind !== 'read' && target.kind !== 'file') return true;
    return network?.files.isElsewhere(target.id) !== true || (await relay.owns(target.id));
  }

  /** Returns true for ids that this node's depot judges alone. */
  #isHere(id: string): boolean {
    const { own, network } = this.#options;
    if (network === undefined) return true;
    if (own === undefined) return false;
    if (own.depot.get(id) !== undefined) return true;
    return own.depot.tag === depotTagOf(id) && !network.files.isElsewhere(id);
  }

  async #readElsewhere(exchange: Exchange, link: DepotLink): Promise<void> {
    const { network, use } = this.#options;
    try {
      await sendFromNetwork(network as NetworkFileOptions, use, exchange, link);
    } finally {
      exchange.kind = 'depot';
    }
  }

  /** Sends the file that an exNode describes. The capability to read the exNode is that of the file. */
  async #sendWhole(
    exchange: Exchange,
    request: DepotRequest | undefined,
    { id, secret }: Pick<DepotLink, 'id' | 'secret'>,
  ): Promise<void> {
    const { network, use, whole } = this.#options;
    const link: DepotLink = { kind: 'read', id, secret };
    const { controller } = exchange;
    let ended = () => {};
    try {
      if (request !== undefined && this.#isHere(id)) {
        const allocation = findAllocation(request, link);
        const { length, sha256 } = request.options.depot.checkReadable(allocation);
        ended = allocation.addReader(controller);
        const { expiresAt } = allocation.head;
        return await sendWhole(whole, exchange, { link, length, sha256, expiresAt });
      }
      if (network === undefined) throw new MillraceError('no-such-allocation');
      const file = await findInNetwork(network, use, exchange, link);
      const { length, sha256, leaseEnd: expiresAt } = file;
      ended = network.files.use(file, controller);
      return await sendWhole(whole, exchange, { link, length, sha256, expiresAt });
    } finally {
      ended();
      exchange.kind = 'depot';
    }
  }

  /** Notices a client that leaves, and one that stays but takes nothing. */
  #watch({ req, res, controller, isRelayed = false }: Exchange): void {
    const { reaper, transfers } = this.#options;
    const connection = connectionOf(req, res);
    const left = (why: string) => controller.abort(new MillraceError('interrupted', why));
    res.once('close', () => {
      if (!isComplete(res)) left('client left');
    });
    // The process that has the client's connection watches that.
    if (isRelayed) return;
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

  /** Ends what an exchange still does. @returns the failure */
  #failed(exchange: Exchange, thrown: unknown): MillraceError {
    const error = asMillraceError(this.#options.own?.depot.diskError(thrown) ?? thrown);
    exchange.controller.abort(error);
    if (error.code === 'internal') {
      this.#options.log.error({ err: error.cause ?? error }, 'internal error');
    }
    return error;
  }

  /** Answers with the problem, or resets a response that has begun. */
  #refuse(
    { req, res }: Exchange,
    request: DepotRequest | undefined,
    allow: string,
    error: MillraceError,
  ): void {
    const about = request?.about;
    // Another request continues, or nobody is there any more.
    if (canAnswer(res) && error.code !== 'interrupted') {
      const state = request &&
        about && {
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
  }
}

/** Returns what may be shown of a target: the id of an allocation, and nothing that is malformed. */
function shownTarget(target: string): string {
  const parsed = parseDepotTarget(target);
  if (parsed === undefined) return `${DEPOT_PATH}…`;
  if (parsed.kind === 'create') return DEPOT_PATH;
  if (parsed.kind === 'put') return `${DEPOT_PATH}/…`;
  if (parsed.kind === 'pull') return hideSecrets(target);
  return hideSecrets(formatDepotLink(parsed));
}
