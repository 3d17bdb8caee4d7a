/** What nodes of a network ask each other besides chunks. */

import type { MillraceError } from '@millrace/shared/base/errors';
import type { FastifyInstance } from 'fastify';
import type { ClusterAuth } from '../peers/cluster-auth.ts';
import type { Membership } from '../peers/membership.ts';
import { HEARTBEAT_PATH } from '../peers/node-requests.ts';
import { problemReply } from './problem-reply.ts';

export interface NodeRoutesOptions {
  readonly membership: Membership;
  readonly auth: ClusterAuth;
}

export async function nodeRoutes(server: FastifyInstance, o: NodeRoutesOptions): Promise<void> {
  server.get(HEARTBEAT_PATH, (request, reply) => {
    try {
      o.auth.verify(request.raw, request.originalUrl);
    } catch (error) {
      const { status, headers, body } = problemReply(error as MillraceError);
      return reply.code(status).headers(headers).send(body);
    }
    const { body, headers } = o.membership.answer(request.raw);
    return reply.type('application/json').headers(headers).send(body);
  });
}
