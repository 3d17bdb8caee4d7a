/** Pulls of the depot: it fetches the bytes of an upload itself. */

import { pullView } from '@millrace/shared/cdn/depot/pull-record';
import type { Allocation } from '../../depot/allocation.ts';
import { PULL_REQUEST_BYTES } from '../../depot/pull/puller.ts';
import { type DepotRequest, sendJson } from './depot-request.ts';
import { RequestBody } from './request-body.ts';
import { readPull } from './requests.ts';
import { stateFields } from './uploads.ts';

/** Answers POST of a pull: it has begun, and goes on by itself. */
export async function pull(request: DepotRequest, allocation: Allocation): Promise<void> {
  const { req, res, exchange, options } = request;
  const body = new RequestBody(req, res, exchange.controller.signal, options.now);
  const wanted = readPull(await body.text(PULL_REQUEST_BYTES));
  await options.puller.begin(allocation, wanted, exchange.clientKey);
  sendJson(res, 202, { pull: pullState(allocation) }, stateFields(request, allocation));
}

/** Describes the pull of an allocation: one that is under way, or has failed last. */
export function pullState({ head }: Allocation) {
  return head.pull && pullView(head.pull);
}
