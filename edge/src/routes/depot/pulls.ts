/** Pulls of the depot: it fetches the bytes of an upload itself. */

import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { pullView } from '@millrace/shared/cdn/depot/pull-record';
import type { Allocation } from '../../depot/allocation.ts';
import { PULL_REQUEST_BYTES } from '../../depot/pull/puller.ts';
import { type DepotRequest, sendJson } from './depot-request.ts';
import { RequestBody } from './request-body.ts';
import { readPull, readSource } from './requests.ts';
import { stateFields } from './uploads.ts';

/** Longest question for a source. */
const SOURCE_BYTES = 64 * 1024;

/** Answers POST of a pull: it has begun, and goes on by itself. */
export async function pull(request: DepotRequest, allocation: Allocation): Promise<void> {
  const { req, res, exchange, options } = request;
  const body = new RequestBody(req, res, exchange.controller.signal, options.now);
  const wanted = readPull(await body.text(PULL_REQUEST_BYTES));
  await options.puller.begin(allocation, wanted, exchange.clientKey);
  sendJson(res, 202, { pull: pullState(allocation) }, stateFields(request, allocation));
}

/** Answers an owner's question whether the depot could pull from a URL. */
export async function prospect(request: DepotRequest, owner: Owner): Promise<void> {
  const { req, res, exchange, options } = request;
  const { signal } = exchange.controller;
  const body = new RequestBody(req, res, signal, options.now);
  const url = readSource(await body.text(SOURCE_BYTES));
  const source = { url: new URL(url), owner: owner.name, client: exchange.clientKey };
  sendJson(res, 200, await options.puller.prospect(source, signal));
}

/** Describes the pull of an allocation: one that is under way, or has failed last. */
export function pullState({ head }: Allocation) {
  return head.pull && pullView(head.pull);
}
