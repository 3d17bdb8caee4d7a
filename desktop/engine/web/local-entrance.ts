/** The way into the daemon for programs and pages of its own machine, on loopback. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { SESSION_PATH } from '@millrace/shared/bridge/page/session-api';
import type { Entrance, Trust } from './entrance.ts';
import { type GuardOptions, isOwnOrigin, refuse, type Secret } from './guard.ts';
import { refusePage } from './page-guard.ts';
import type { SessionRoute } from './session-route.ts';
import type { Sessions } from './sessions.ts';

export interface LocalEntranceOptions {
  readonly secret: Secret;
  readonly sessions: Sessions;
  readonly login: SessionRoute;
  /** Returns the address, once it is known. */
  readonly guard: () => GuardOptions;
}

export class LocalEntrance implements Entrance {
  readonly socketScheme = 'ws';
  readonly #options: LocalEntranceOptions;

  constructor(options: LocalEntranceOptions) {
    this.#options = options;
  }

  refuse(req: IncomingMessage) {
    return refuse(req, this.#options.guard());
  }

  refusePage(req: IncomingMessage) {
    return refusePage(req, this.#options.guard());
  }

  allowedOrigin({ headers: { origin } }: IncomingMessage): string | undefined {
    const { allowedOrigins } = this.#options.guard();
    return origin !== undefined && allowedOrigins.includes(origin) ? origin : undefined;
  }

  /** Identifies the sender of a request: a holder of the token, or our own logged-in page. */
  trust(req: IncomingMessage): Trust {
    const token = this.#options.secret.inHeader(req);
    const id = isOwnOrigin(req) ? this.#options.sessions.of(req) : undefined;
    return { trusted: token || id !== undefined, token, id };
  }

  isLogIn(path: string): boolean {
    return path === SESSION_PATH;
  }

  logIn(req: IncomingMessage, res: ServerResponse): Promise<void> {
    return this.#options.login.serve(req, res);
  }

  onGone(listener: (id: string) => void): void {
    this.#options.sessions.listen(listener);
  }
}
