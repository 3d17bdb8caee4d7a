/** Refusals, for administrators only, because they contain addresses of clients. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { FastifyInstance } from 'fastify';
import type { Admissions } from '../admission/admissions.ts';
import type { Config } from '../config/config.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { isAdmin, sendProblem } from './admin.ts';

export interface RefusalRoutesOptions {
  readonly config: Config;
  readonly admissions: Admissions;
  /** Set if this is one of several processes: each answers for all of them. */
  readonly link: WorkerLink | undefined;
}

export async function refusalRoutes(
  server: FastifyInstance,
  { config, admissions, link }: RefusalRoutesOptions,
): Promise<void> {
  server.get('/-/refusals', async (request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    if (!isAdmin(request, config.adminTokenFile)) {
      return sendProblem(reply, new MillraceError('token-required'));
    }
    if (link === undefined) return admissions.report();
    return reply.type('application/json').send(await link.collect('refusals'));
  });
}
