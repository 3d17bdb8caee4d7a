/** `/session`: logs in and out, and tells whether the client is logged in. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { GuessLimit } from '@millrace/shared/base/guess-limit';
import * as z from 'zod';
import type { Secret } from './guard.ts';
import type { LoginCodes } from './login-codes.ts';
import type { Sessions } from './sessions.ts';
import { readSmallJson } from './small-body.ts';

const METHODS = 'GET, POST, DELETE';

const requestSchema = z.union([
  z.strictObject({ token: z.string() }),
  z.strictObject({ code: z.string(), page: z.string().min(16).max(64).optional() }),
]);

export interface SessionRouteOptions {
  readonly sessions: Sessions;
  readonly codes: LoginCodes;
  readonly secret: Secret;
  /** Called when a code has been used. */
  readonly onCode: () => void;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

export class SessionRoute {
  readonly #options: SessionRouteOptions;
  readonly #guesses = new GuessLimit();

  constructor(options: SessionRouteOptions) {
    this.#options = options;
  }

  /** Answers a request that the guard has accepted. */
  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { sessions } = this.#options;
    res.setHeader('cache-control', 'no-store');
    const port = req.socket.localPort as number;
    if (req.method === 'GET') {
      return void res.writeHead(sessions.of(req) === undefined ? 401 : 204).end();
    }
    if (req.method === 'DELETE') {
      res.setHeader('set-cookie', sessions.end(sessions.of(req), port));
      return void res.writeHead(204).end();
    }
    if (req.method !== 'POST') return void res.writeHead(405, { allow: METHODS }).end();
    const given = await readSmallJson(req, requestSchema);
    if (given === undefined) return void res.writeHead(400).end();
    const { status, retryAfterMs } = this.#check(given);
    if (status === 204) res.setHeader('set-cookie', sessions.begin(port));
    if (retryAfterMs > 0) res.setHeader('retry-after', Math.ceil(retryAfterMs / 1000));
    res.writeHead(status).end();
  }

  #check(given: z.output<typeof requestSchema>): { status: number; retryAfterMs: Millis } {
    const { codes, secret, now } = this.#options;
    const wait = this.#guesses.waitMs(now());
    if (wait > 0) return { status: 429, retryAfterMs: wait };
    const right =
      'code' in given ? codes.take(given.code, given.page) : secret.matches(given.token);
    if (right && 'code' in given) this.#options.onCode();
    if (right) this.#guesses.onRight();
    else this.#guesses.onWrong(now());
    return { status: right ? 204 : 401, retryAfterMs: this.#guesses.waitMs(now()) };
  }
}
