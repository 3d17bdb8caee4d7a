/** `/session` and `/pair` for other machines: logs people in and out, and pairs devices. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import {
  LOGIN_BY_ACCOUNT,
  LOGIN_FIELD,
  type Paired,
} from '@millrace/shared/bridge/page/remote-api';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import { browserName } from '@millrace/shared/remote/browser-name';
import { GuessTable } from '@millrace/shared/remote/guess-table';
import type { PairingCodes } from '@millrace/shared/remote/pairing-codes';
import * as z from 'zod';
import { readSmallJson } from '../web/small-body.ts';
import { keyOf, type LiveAccounts, MAX_PASSWORD_CHARS } from './accounts.ts';
import { PasswordCheck } from './password.ts';
import { NO_SESSION_COOKIE, sessionCookie, sessionSecret } from './session-cookie.ts';
import type { Newcomer, Visitors } from './visitors.ts';

const METHODS = 'GET, POST, DELETE';
/** Time after which a request may be tried again while too many passwords are being compared, s. */
const BUSY_SECONDS = 2;

const code = z.string().max(64);
const sessionSchema = z.union([
  z.strictObject({ name: z.string().max(128), password: z.string().max(MAX_PASSWORD_CHARS) }),
  z.strictObject({ pairingCode: code }),
]);
const pairSchema = z.strictObject({ code, name: z.string().max(256) });

export interface LogInRouteOptions {
  readonly visitors: Visitors;
  readonly accounts: LiveAccounts;
  /** Codes, with the keys of the accounts that made them. */
  readonly codes: PairingCodes<string | undefined>;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** wrong: a guess; busy: it was not compared; full: there are too many devices. */
type Outcome = { readonly secret: string } | 'wrong' | 'busy' | 'full';

export class LogInRoute {
  readonly #options: LogInRouteOptions;
  readonly #guesses = new GuessTable();
  readonly #passwords = new PasswordCheck();

  constructor(options: LogInRouteOptions) {
    this.#options = options;
  }

  /** Answers a request for `/session`. @param address of the client */
  async session(req: IncomingMessage, res: ServerResponse, address: string): Promise<void> {
    const { visitors } = this.#options;
    res.setHeader('cache-control', 'no-store');
    res.setHeader(LOGIN_FIELD, LOGIN_BY_ACCOUNT);
    const secret = sessionSecret(req);
    const visitor = secret === undefined ? undefined : visitors.find('browser', secret, address);
    if (req.method === 'GET') return end(res, visitor === undefined ? 401 : 204);
    if (req.method === 'DELETE') {
      if (visitor !== undefined) visitors.revoke(visitor.id);
      res.setHeader('set-cookie', NO_SESSION_COOKIE);
      return end(res, 204);
    }
    if (req.method !== 'POST') return end(res.setHeader('allow', METHODS), 405);
    const given = await readSmallJson(req, sessionSchema);
    if (given === undefined) return end(res, 400);
    const name = browserName(req.headers['user-agent']);
    const newcomer = { kind: 'browser', name, address } as const;
    const outcome = await this.#guess(address, async () => {
      if ('pairingCode' in given) return this.#byCode(given.pairingCode, newcomer);
      const account = this.#options.accounts.find(given.name);
      const right = await this.#passwords.matches(given.password, account?.password);
      if (right === undefined) return 'busy';
      if (!right || account === undefined) return 'wrong';
      return this.#admit({ ...newcomer, account: keyOf(account) });
    });
    if (!refused(res, outcome))
      end(res.setHeader('set-cookie', sessionCookie(outcome.secret)), 204);
  }

  /** Answers a request for `/pair`. */
  async pair(req: IncomingMessage, res: ServerResponse, address: string): Promise<void> {
    res.setHeader('cache-control', 'no-store');
    if (req.method !== 'POST') return end(res.setHeader('allow', 'POST'), 405);
    const given = await readSmallJson(req, pairSchema);
    if (given === undefined) return end(res, 400);
    const newcomer = { kind: 'device', name: given.name, address } as const;
    const outcome = await this.#guess(address, async () => this.#byCode(given.code, newcomer));
    if (refused(res, outcome)) return;
    const paired: Paired = { token: outcome.secret };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(paired));
  }

  #byCode(text: string, newcomer: Omit<Newcomer, 'account'>): Outcome {
    const found = this.#options.codes.take(text, this.#options.now());
    if (found === undefined) return 'wrong';
    const { owner: account } = found;
    // An account that is gone answers for nobody.
    if (account !== undefined && this.#options.accounts.byKey(account) === undefined)
      return 'wrong';
    return this.#admit({ ...newcomer, account });
  }

  #admit(newcomer: Newcomer): Outcome {
    try {
      return { secret: this.#options.visitors.admit(newcomer).secret };
    } catch (error) {
      if (isMillraceError(error, 'bad-option')) return 'full';
      throw error;
    }
  }

  /** Takes a guess, unless its client has guessed wrong too often. @returns ms to wait, if so */
  async #guess(
    address: string,
    take: () => Promise<Outcome> | Outcome,
  ): Promise<Outcome | { readonly waitMs: Millis }> {
    const { now } = this.#options;
    const client = clientKey(address);
    const waitMs = this.#guesses.waitMs(client, now());
    if (waitMs > 0) return { waitMs };
    // Counted first: guesses that are sent together are not compared together.
    this.#guesses.onWrong(client, now());
    const outcome = await take();
    if (typeof outcome === 'object') this.#guesses.onRight(client);
    return outcome;
  }
}

/** Answers a request without success. @returns false if there is a success to tell */
function refused(
  res: ServerResponse,
  outcome: Outcome | { readonly waitMs: Millis },
): outcome is Exclude<typeof outcome, { readonly secret: string }> {
  if (typeof outcome === 'object' && 'secret' in outcome) return false;
  if (outcome === 'wrong') end(res, 401);
  else if (outcome === 'full') end(res, 409);
  else {
    const seconds = outcome === 'busy' ? BUSY_SECONDS : Math.ceil(outcome.waitMs / 1000);
    end(res.setHeader('retry-after', seconds), 429);
  }
  return true;
}

function end(res: ServerResponse, status: number): void {
  // The body of a refused request is not read.
  if (!res.req.complete) res.setHeader('connection', 'close');
  res.writeHead(status).end();
}
