/** Files of the depot, for operators: they list, delete and block them with the administration token. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import type { DepotAdministration } from '../../depot/administration.ts';
import { isAdmin } from '../admin.ts';
import { answerWithProblems, readBody } from '../admin-api.ts';

export interface DepotAdministrationOptions {
  readonly config: Config;
  /** Undefined if the edge is not a depot. */
  readonly administration: DepotAdministration | undefined;
}

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

export async function depotAdministrationRoutes(
  server: FastifyInstance,
  { config, administration }: DepotAdministrationOptions,
): Promise<void> {
  answerWithProblems(server);
  const onRequest = async (request: FastifyRequest) => {
    if (!isAdmin(request, config.adminTokenFile)) throw new MillraceError('token-required');
  };
  const depot = () => {
    if (administration !== undefined) return administration;
    throw new MillraceError('no-such-page', 'this edge is not a depot');
  };
  server.get(PATH, { onRequest }, async ({ query }) => depot().list(readBody(QUERY, query)));
  server.post(PATH, { onRequest }, async ({ body }) => {
    const { delete: remove = false, block, ...selection } = readBody(BODY, body);
    return depot().take(selection, { remove, block });
  });
}
