/** Answers requests of owners, and of holders of the capabilities to write and manage. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import {
  DEPOT_PATH,
  type DepotLink,
  type DepotTarget,
  PROSPECT_PATH,
} from '@millrace/shared/http/urls/depot-link';
import type { Allocation } from '../../depot/allocation.ts';
import { readBlockBytes, sendBlocks } from './blocks.ts';
import { checkClaim } from './claims.ts';
import { type DepotRequest, sendJson } from './depot-request.ts';
import { prospect, pull, pullState } from './pulls.ts';
import { replace } from './replace.ts';
import { RequestBody } from './request-body.ts';
import { readChange, readPathName } from './requests.ts';
import { create, patch, put, showState } from './uploads.ts';

/** Targets that are not those of a file to be read. */
type StoredTarget = Exclude<DepotTarget, { readonly kind: 'file' }>;

/** Last part of the path of the question whether the depot could pull from a URL. */
const PROSPECT_NAME = PROSPECT_PATH.slice(DEPOT_PATH.length + 1);
/** Longest body of a change. */
const CHANGE_BYTES = 4096;

/**
 * Answers a request of a method that its target takes.
 *
 * @throws MillraceError
 */
export async function answerStored(request: DepotRequest, target: StoredTarget): Promise<void> {
  if (target.kind === 'create') {
    const owner = ownerOf(request);
    if (request.req.method === 'GET') return showRoom(request, owner);
    return create(request, owner, target.query);
  }
  if (target.kind === 'put') {
    const owner = ownerOf(request);
    if (isProspect(target, request.req.method)) return prospect(request, owner);
    return put(request, owner, readPathName(target.name), target.query);
  }
  const { id, secret } = target;
  const kind = target.kind === 'pull' ? 'write' : target.kind;
  const allocation = findAllocation(request, { kind, id, secret });
  if (kind === 'write') await checkClaim(request, allocation);
  request.about = { allocation };
  if (target.kind === 'manage') return manage(request, allocation, target.query ?? '');
  if (target.kind === 'pull') return pull(request, allocation);
  if (request.req.method === 'PUT') return replace(request, allocation);
  return request.req.method === 'HEAD'
    ? showState(request, allocation)
    : patch(request, allocation);
}

/** Returns true for the question whether the depot could pull from a URL. */
export function isProspect(target: DepotTarget, method: string | undefined): boolean {
  return method === 'POST' && target.kind === 'put' && target.name === PROSPECT_NAME;
}

/** Answers GET of the depot: what its owner may still store, and for how long. */
function showRoom({ res, options }: DepotRequest, owner: Owner): void {
  const { depot, maxLeaseMs } = options;
  const { bytes, count } = depot.space.left(owner);
  const seconds = Math.floor(Math.min(maxLeaseMs, owner.forMs) / 1000);
  const each = owner.each === Infinity ? undefined : owner.each;
  sendJson(res, 200, { owner: owner.name, bytes, each, count, seconds });
}

/** Finds the allocation of a capability. @throws MillraceError as `Depot.find` */
export function findAllocation(
  { exchange, options: { depot, now }, use }: DepotRequest,
  link: DepotLink,
): Allocation {
  try {
    return depot.find(link);
  } catch (error) {
    if (isMillraceError(error, 'no-such-allocation')) use.onWrong(exchange.clientKey, now());
    throw error;
  }
}

async function manage(request: DepotRequest, allocation: Allocation, query: string): Promise<void> {
  const { req, res, exchange } = request;
  const { depot, now } = request.options;
  if (req.method === 'DELETE') {
    await depot.release(allocation);
    res.writeHead(204).end();
    return;
  }
  if (req.method === 'PATCH') {
    const body = new RequestBody(req, res, exchange.controller.signal, now);
    const { seconds, bytes } = readChange(await body.text(CHANGE_BYTES));
    const forMs: Millis | undefined = seconds === undefined ? undefined : seconds * 1000;
    await depot.change(allocation, { forMs, bytes });
  }
  const { id, owner, bytes, expiresAt, name, type, final, damaged } = allocation.head;
  const { offset, isComplete: complete } = allocation;
  const expires = new Date(expiresAt).toISOString();
  const state = {
    ...{ id, owner, name, type, bytes, expires, offset, complete },
    ...{ sha256: final?.sha256, damaged: damaged ?? false, pull: pullState(allocation) },
  };
  const blockBytes = req.method === 'GET' ? readBlockBytes(query, offset) : undefined;
  if (blockBytes === undefined) sendJson(res, 200, state);
  else await sendBlocks(request, allocation, blockBytes, state);
}

/** Finds the owner of a request. @throws MillraceError `owner-token-required` */
function ownerOf({ req, exchange, options: { owners, now }, use }: DepotRequest): Owner {
  const token = /^Bearer +([^\s]+)$/i.exec(req.headers.authorization ?? '')?.[1];
  if (token === undefined) throw new MillraceError('owner-token-required');
  const owner = owners.withToken(token);
  if (owner !== undefined) return owner;
  use.onWrong(exchange.clientKey, now());
  throw new MillraceError('owner-token-required', 'this one is not known here');
}
