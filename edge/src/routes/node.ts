/** Requests between nodes of a network besides those for chunks. */

import { asMillraceError } from '@millrace/shared/base/errors';
import type { FastifyInstance } from 'fastify';
import { problemReply } from '../listen/problem-reply.ts';
import type { ClusterAuth } from '../peers/cluster-auth.ts';
import type { Membership } from '../peers/membership.ts';
import { HEARTBEAT_PATH, INTRODUCTION_PATH } from '../peers/node-requests.ts';

export interface NodeRoutesOptions {
  readonly membership: Membership;
  readonly auth: ClusterAuth;
}

export async function nodeRoutes(server: FastifyInstance, o: NodeRoutesOptions): Promise<void> {
  server.setErrorHandler((thrown, _request, reply) => {
    const { status, headers, body } = problemReply(asMillraceError(thrown));
    return reply.code(status).headers(headers).send(body);
  });
  server.get(HEARTBEAT_PATH, (request, reply) => {
    o.auth.verify(request.raw, request.originalUrl);
    const { body, headers } = o.membership.answer(request.raw);
    return reply.type('application/json').headers(headers).send(body);
  });
  server.get(INTRODUCTION_PATH, (request, reply) => {
    o.auth.verifyIntroduction(request.raw, request.originalUrl);
    const { body, headers } = o.membership.introduce(request.raw);
    return reply.type('application/json').headers(headers).send(body);
  });
}
