/** A way into the daemon: who may come, and how they are recognised. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RemoteAccess } from './callers.ts';
import type { Refusal } from './guard.ts';

/** The sender of a request, as far as it has shown who it is. */
export interface Trust {
  readonly trusted: boolean;
  /** True if the daemon's own token was shown. */
  readonly token: boolean;
  /** Id of the sender: its connections are closed when the sender may come no more. */
  readonly id?: string | undefined;
  /** Set for requests from other machines. */
  readonly remote?: RemoteAccess;
}

export interface Entrance {
  /** Scheme of WebSockets at this address. */
  readonly socketScheme: 'ws' | 'wss';
  /** Decides whether a request may call methods. @returns undefined if it may */
  refuse(req: IncomingMessage): Refusal | undefined;
  /** Decides whether a request may load the page. @returns undefined if it may */
  refusePage(req: IncomingMessage): Refusal | undefined;
  /** Returns the Origin to allow in an answer, if it is not the page's own. */
  allowedOrigin(req: IncomingMessage): string | undefined;
  trust(req: IncomingMessage): Trust;
  /** Returns true for the paths of log-in. */
  isLogIn(path: string): boolean;
  /** Answers a request for a path of log-in, which `refuse` has let through. */
  logIn(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>;
  /** Calls the listener with the id of each sender that may come no more. */
  onGone(listener: (id: string) => void): void;
}
