/** Administration, for holders of the token. */

import { timingSafeEqual } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { PrefixedHandler } from './prefixed.ts';
import { problemReply } from './problem-reply.ts';

export interface AdminRoutesOptions {
  readonly config: Config;
  readonly prefixed: PrefixedHandler;
  readonly log: Log;
}

export async function adminRoutes(server: FastifyInstance, o: AdminRoutesOptions): Promise<void> {
  const { config, prefixed, log } = o;
  let grace: NodeJS.Timeout | undefined;

  server.addHook('onRequest', async (request, reply) => {
    if (isAdmin(request, config.adminTokenFile)) return;
    const { status, headers, body } = problemReply(new MillraceError('token-required'));
    await reply
      .code(status)
      .headers({ ...headers, 'www-authenticate': 'Bearer' })
      .send(body);
  });

  // Aware clients are sent elsewhere at once; the others may finish while the grace time lasts.
  server.post('/-/drain', (_request, reply) => {
    log.warn({ transfers: prefixed.running, graceMs: config.grace }, 'draining');
    prefixed.drain();
    prefixed.offload();
    clearTimeout(grace);
    grace = setTimeout(() => prefixed.resetAll(), config.grace).unref();
    return reply.code(202).send({ draining: true, transfers: prefixed.running });
  });

  server.delete('/-/drain', () => {
    log.warn({}, 'draining called off');
    clearTimeout(grace);
    prefixed.drain(false);
    return { draining: false, transfers: prefixed.running };
  });
}

function isAdmin(request: FastifyRequest, token: Buffer | undefined): boolean {
  const given = Buffer.from(/^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '');
  return token !== undefined && given.length === token.length && timingSafeEqual(given, token);
}
