/**
 * The way into the daemon for other machines: by https, under the names that the user has stated,
 * with an account, a session or the token of a paired device. The token of the daemon's own machine
 * opens nothing here.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { PAIR_PATH } from '@millrace/shared/bridge/page/remote-api';
import { SESSION_PATH } from '@millrace/shared/bridge/page/session-api';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { type Exposure, isOriginOf, namesHost } from '@millrace/shared/remote/exposure';
import type { RemoteCaller } from '../web/callers.ts';
import type { Entrance, Trust } from '../web/entrance.ts';
import type { Refusal } from '../web/guard.ts';
import { refuseElsewhere } from '../web/page-guard.ts';
import type { LogInRoute } from './log-in-route.ts';
import { sessionSecret } from './session-cookie.ts';
import type { Visitor, Visitors } from './visitors.ts';

/** Pages of extensions. Their requests count only with the token of a device. */
const EXTENSION = /^(?:chrome|moz|safari-web)-extension:\/\/[A-Za-z0-9-]+$/;

export interface RemoteEntranceOptions {
  readonly exposure: Pick<Exposure, 'hosts' | 'proxies'>;
  readonly visitors: Visitors;
  /** Finds the clients behind the reverse proxies. */
  readonly clients: ClientAddress;
  readonly login: LogInRoute;
}

export class RemoteEntrance implements Entrance {
  readonly socketScheme = 'wss';
  readonly #options: RemoteEntranceOptions;

  constructor(options: RemoteEntranceOptions) {
    this.#options = options;
  }

  refuse(req: IncomingMessage): Refusal | undefined {
    const { origin } = req.headers;
    const site = req.headers['sec-fetch-site'];
    const refusal = this.#refuseWay(req);
    if (refusal !== undefined) return refusal;
    if (origin === undefined) {
      if (site === undefined || site === 'none' || site === 'same-origin') return undefined;
      return { status: 403, reason: 'pages of other sites may not call' };
    }
    if (this.#isOwn(req) || EXTENSION.test(origin)) return undefined;
    return { status: 403, reason: 'this Origin may not call' };
  }

  refusePage(req: IncomingMessage): Refusal | undefined {
    return this.#refuseWay(req) ?? refuseElsewhere(req, this.#isOwn(req));
  }

  allowedOrigin({ headers: { origin } }: IncomingMessage): string | undefined {
    return origin !== undefined && EXTENSION.test(origin) ? origin : undefined;
  }

  /** Recognises a device by its token, or our own page by its cookie. */
  trust(req: IncomingMessage): Trust {
    const { visitors } = this.#options;
    const address = this.#addressOf(req);
    const find = (kind: Visitor['kind'], secret: string | undefined) =>
      secret === undefined ? undefined : asCaller(visitors.find(kind, secret, address));
    const caller =
      find('device', bearerOf(req)) ??
      // Browsers send cookies by themselves, so these count only with requests of our own page.
      (this.#isOwn(req) ? find('browser', sessionSecret(req)) : undefined);
    return {
      trusted: caller !== undefined,
      token: false,
      id: caller?.id,
      remote: { caller, byToken: (token) => find('device', token) },
    };
  }

  isLogIn(path: string): boolean {
    return path === SESSION_PATH || path === PAIR_PATH;
  }

  logIn(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const allowed = this.allowedOrigin(req);
    if (allowed !== undefined && path === PAIR_PATH) {
      res.setHeader('access-control-allow-origin', allowed);
      res.setHeader('access-control-allow-headers', 'content-type');
      res.setHeader('vary', 'origin');
      if (req.method === 'OPTIONS') {
        res.writeHead(204).end();
        return Promise.resolve();
      }
    }
    const address = this.#addressOf(req);
    return path === PAIR_PATH
      ? this.#options.login.pair(req, res, address)
      : this.#options.login.session(req, res, address);
  }

  onGone(listener: (id: string) => void): void {
    this.#options.visitors.onGone(listener);
  }

  /** Refuses other names, and connections that have not come through the reverse proxy. */
  #refuseWay(req: IncomingMessage): Refusal | undefined {
    const { exposure, clients } = this.#options;
    const { proxies, hosts } = exposure;
    if (proxies.length > 0 && !clients.isProxy(req.socket.remoteAddress ?? '')) {
      return { status: 403, reason: 'only the reverse proxy may connect here' };
    }
    if (namesHost(req.headers.host, hosts)) return undefined;
    return { status: 403, reason: 'the Host field does not name this server' };
  }

  /** Returns true for requests of the page at the very host that was asked. */
  #isOwn({ headers: { host, origin } }: IncomingMessage): boolean {
    if (host === undefined || origin === undefined) return false;
    return isOriginOf(origin, this.#options.exposure.hosts) && isOriginOf(origin, [nameOf(host)]);
  }

  #addressOf(req: IncomingMessage): string {
    return this.#options.clients.of(req.socket.remoteAddress, req.headers);
  }
}

/** Returns a Host field that the guard has accepted, in lower case, without the port of https. */
function nameOf(host: string): string {
  return new URL(`https://${host}`).host;
}

function bearerOf(req: IncomingMessage): string | undefined {
  return /^Bearer +(\S{1,256})$/i.exec(req.headers.authorization ?? '')?.[1];
}

function asCaller(visitor: Visitor | undefined): RemoteCaller | undefined {
  if (visitor === undefined) return undefined;
  return { id: visitor.id, kind: visitor.kind, account: visitor.account };
}
