/** Administration, for holders of the token. */

import { timingSafeEqual } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Exchanges } from '../clients/exchanges.ts';
import type { Config } from '../config/config.ts';
import { problemReply } from '../listen/problem-reply.ts';
import type { WorkerLink } from '../workers/worker-link.ts';

export interface AdminRoutesOptions {
  readonly config: Config;
  readonly drain: Drain;
  /** Set if this is one of several processes: all of them drain. */
  readonly link: WorkerLink | undefined;
}

/** Sends clients elsewhere: aware ones at once, the others when the grace time is over. */
export class Drain {
  readonly #config: Config;
  readonly #transfers: Exchanges;
  readonly #log: Log;
  readonly #onChange: (takesClients: boolean) => void;
  #leave: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;

  /** @param onChange called when clients are to come no more, or again */
  constructor(
    config: Config,
    transfers: Exchanges,
    log: Log,
    onChange: (takesClients: boolean) => void,
  ) {
    this.#config = config;
    this.#transfers = transfers;
    this.#log = log;
    this.#onChange = onChange;
  }

  /**
   * Begins to leave, and after `--leave-time` to drain, so that clients which the edge sends
   * elsewhere do not come back to it; or takes clients again.
   */
  readonly setDraining = (draining: boolean): void => {
    const { leaveTime: leaveMs } = this.#config;
    clearTimeout(this.#leave);
    clearTimeout(this.#grace);
    this.#transfers.setLeaving(draining);
    this.#onChange(!draining);
    if (!draining) {
      this.#transfers.drain(false);
      this.#log.warn({}, 'draining cancelled');
      return;
    }
    if (leaveMs === 0 || this.#transfers.draining) return this.#drain();
    this.#log.warn({ leaveMs }, 'leaving: clients are told to come no more');
    this.#leave = setTimeout(() => this.#drain(), leaveMs).unref();
  };

  #drain(): void {
    const { grace: graceMs } = this.#config;
    this.#log.warn({ transfers: this.#transfers.running, graceMs }, 'draining');
    this.#transfers.drain();
    this.#transfers.offload();
    this.#grace = setTimeout(() => this.#transfers.resetAll(), graceMs).unref();
  }
}

export async function adminRoutes(server: FastifyInstance, o: AdminRoutesOptions): Promise<void> {
  server.addHook('onRequest', async (request, reply) => {
    if (isAdmin(request, o.config.adminTokenFile)) return;
    await sendProblem(reply, new MillraceError('token-required'));
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

/** Answers with a problem. */
export function sendProblem(reply: FastifyReply, error: MillraceError): FastifyReply {
  const { status, headers, body } = problemReply(error);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.code(status).headers(headers).send(body);
}

/** Reads the token of `Authorization: Bearer`; empty if there is none. */
export function bearer(request: FastifyRequest): string {
  return /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

/** Returns true for a request with the token of the administrators. */
export function isAdmin(request: FastifyRequest, token: Buffer | undefined): boolean {
  const given = Buffer.from(bearer(request));
  return token !== undefined && given.length === token.length && timingSafeEqual(given, token);
}
