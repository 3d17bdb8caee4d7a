/** Administration, for holders of the token. */

import { timingSafeEqual } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { problemReply } from './problem-reply.ts';
import type { Transfers } from './transfers.ts';

export interface AdminRoutesOptions {
  readonly config: Config;
  readonly drain: Drain;
  /** Where this is one of several processes: all of them drain. */
  readonly link: WorkerLink | undefined;
}

/** Sends clients elsewhere: aware ones at once, the others when the grace time is over. */
export class Drain {
  readonly #config: Config;
  readonly #transfers: Transfers;
  readonly #log: Log;
  #grace: NodeJS.Timeout | undefined;

  constructor(config: Config, transfers: Transfers, log: Log) {
    this.#config = config;
    this.#transfers = transfers;
    this.#log = log;
  }

  /** Begins to drain, or takes clients again. */
  readonly setDraining = (draining: boolean): void => {
    const { grace: graceMs } = this.#config;
    const transfers = this.#transfers.running;
    clearTimeout(this.#grace);
    this.#transfers.drain(draining);
    this.#log.warn({ transfers, graceMs }, draining ? 'draining' : 'draining called off');
    if (!draining) return;
    this.#transfers.offload();
    this.#grace = setTimeout(() => this.#transfers.resetAll(), graceMs).unref();
  };
}

export async function adminRoutes(server: FastifyInstance, o: AdminRoutesOptions): Promise<void> {
  server.addHook('onRequest', async (request, reply) => {
    if (isAdmin(request, o.config.adminTokenFile)) return;
    const { status, headers, body } = problemReply(new MillraceError('token-required'));
    await reply
      .code(status)
      .headers({ ...headers, 'www-authenticate': 'Bearer' })
      .send(body);
  });

  const setDraining = (draining: boolean) =>
    o.link === undefined ? o.drain.setDraining(draining) : o.link.drain(draining);

  server.post('/-/drain', (_request, reply) => {
    setDraining(true);
    return reply.code(202).send({ draining: true });
  });

  server.delete('/-/drain', () => {
    setDraining(false);
    return { draining: false };
  });
}

/** Whether a request carries the administration token. */
export function isAdmin(request: FastifyRequest, token: Buffer | undefined): boolean {
  const given = Buffer.from(/^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '');
  return token !== undefined && given.length === token.length && timingSafeEqual(given, token);
}
