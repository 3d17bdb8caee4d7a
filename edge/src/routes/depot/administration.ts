/** Files of the depot, for operators: they list, delete and block them with the administration token. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { AllocationList, TakenDown } from '@millrace/shared/cdn/depot/allocation-view';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { ADMITTED } from '../../admission/client-limits.ts';
import { canAnswer, resetResponse } from '../../clients/connection.ts';
import type { Config } from '../../config/config.ts';
import type { DepotAdministration } from '../../depot/administration.ts';
import type { DepotRelay } from '../../relay/depot-relay.ts';
import { isAdmin } from '../admin.ts';
import { answerWithProblems, readBody } from '../admin-api.ts';
import { sendJson } from './depot-request.ts';
import { depotProblem, refuse } from './replies.ts';
import { RequestBody } from './request-body.ts';

export interface DepotAdministrationOptions {
  readonly config: Config;
  /** Undefined if the edge is not a depot. */
  readonly administration: DepotAdministration | undefined;
  /** Passes requests on to the process of this edge that has the depot, if that is another one. */
  readonly relay: DepotRelay | undefined;
}

/** Longest body of a request. */
const BODY_BYTES = 64 * 1024;

const PATH = '/-/allocations';
const owner = z.string().min(1).max(64).optional();
const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must have 64 hexadecimal digits')
  .optional();
const id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{16}$/, 'is the part of a link behind /-/d/')
  .optional();
const QUERY = z.strictObject({ owner, sha256, id });
const BODY = z.strictObject({
  ...{ owner, sha256, id },
  delete: z.boolean().optional(),
  /** False takes a block back. */
  block: z.boolean().optional(),
});

/** Returns true for targets of these requests. */
export function isAdministration(target: string): boolean {
  return target === PATH || target.startsWith(`${PATH}?`);
}

export async function depotAdministrationRoutes(
  server: FastifyInstance,
  { config, administration, relay }: DepotAdministrationOptions,
): Promise<void> {
  answerWithProblems(server);
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!isAdmin(request, config.adminTokenFile)) throw new MillraceError('token-required');
    if (relay === undefined) return;
    reply.hijack();
    await passOn(relay, request.raw, reply.raw, request.originalUrl);
  };
  const depot = () => {
    if (administration !== undefined) return administration;
    throw new MillraceError('no-such-page', 'this edge is not a depot');
  };
  server.get(PATH, { onRequest }, async ({ query, signal }) => {
    await depot().ready(signal);
    return list(depot(), query);
  });
  server.post(PATH, { onRequest }, async ({ body, signal }) => {
    await depot().ready(signal);
    return change(depot(), body);
  });
}

function list(administration: DepotAdministration, query: unknown): AllocationList {
  return administration.list(readBody(QUERY, query));
}

function change(administration: DepotAdministration, body: unknown): Promise<TakenDown> {
  const { delete: remove = false, block, ...selection } = readBody(BODY, body);
  return administration.take(selection, { remove, block });
}

/** Passes a request on to the process that has the depot. Never rejects. */
async function passOn(
  relay: DepotRelay,
  req: IncomingMessage,
  res: ServerResponse,
  target: string,
): Promise<void> {
  const controller = new AbortController();
  res.once('close', () => controller.abort(new MillraceError('interrupted', 'client left')));
  try {
    const relayed = { req, res, controller, client: 'administrator', sentBytes: 0 };
    await relay.pass({ ...relayed, admission: ADMITTED }, target);
  } catch (thrown) {
    const error = asMillraceError(thrown);
    if (canAnswer(res)) refuse(req, res, depotProblem(error, '', undefined));
    else resetResponse(res);
  }
}

/** Answers a request that another process of this edge has passed on. Never rejects. */
export async function answerRelayed(
  administration: DepotAdministration,
  req: IncomingMessage,
  res: ServerResponse,
  now: () => Millis,
): Promise<void> {
  const controller = new AbortController();
  res.once('close', () => controller.abort(new MillraceError('interrupted', 'client left')));
  try {
    await administration.ready(controller.signal);
    if (req.method === 'POST') {
      const text = await new RequestBody(req, res, controller.signal, now).text(BODY_BYTES);
      sendJson(res, 200, await change(administration, JSON.parse(text)));
    } else {
      const { searchParams } = new URL(req.url ?? '', 'http://depot');
      sendJson(res, 200, list(administration, Object.fromEntries(searchParams)));
    }
  } catch (thrown) {
    const error =
      thrown instanceof SyntaxError
        ? new MillraceError('bad-request', 'the body is not JSON')
        : asMillraceError(thrown);
    if (canAnswer(res)) refuse(req, res, depotProblem(error, '', undefined));
  }
}
