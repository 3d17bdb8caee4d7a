/**
 * The daemon's servers: the one on loopback, for its own machine, and the one for other machines, if
 * its user has asked for that. Both offer the same methods, with different rules of access.
 */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { RPC_PATH, withOffered } from '@millrace/shared/bridge/page/session-api';
import type { Manager } from '../downloads/manager.ts';
import type { ParseMetalink } from '../downloads/metalinks.ts';
import type { Streams } from '../downloads/streams.ts';
import type { HouseSwitch } from '../edges/house-switch.ts';
import type { Offers } from '../offers/offers.ts';
import { checkedCall } from '../remote/checked-call.ts';
import type { Places } from '../remote/places.ts';
import type { Remote } from '../remote/remote.ts';
import type { Outgoing } from '../shares/outgoing.ts';
import type { Shares } from '../shares/shares.ts';
import { type LocalEdge, settingsOf } from '../views/app-settings.ts';
import type { DownloadLogs } from '../views/download-logs.ts';
import { type GuardOptions, isLoopback, Secret } from '../web/guard.ts';
import { LocalEntrance } from '../web/local-entrance.ts';
import { GOOD_FOR_MS, LoginCodes } from '../web/login-codes.ts';
import { LoginPages } from '../web/login-page.ts';
import { SessionRoute } from '../web/session-route.ts';
import type { Sessions } from '../web/sessions.ts';
import { StaticPage } from '../web/static-page.ts';
import { aria2Methods } from './aria2/methods.ts';
import { Dispatcher } from './calls/dispatcher.ts';
import { LiveFeed } from './calls/live-feed.ts';
import { NOTIFICATIONS, Notifier } from './calls/notifier.ts';
import { Door, HTTP_LIMITS } from './door.ts';
import { millraceMethods } from './millrace/methods.ts';

// An import of node:http would also load its fetch and WebSocket, a tenth of the start-up time.
const { createServer } = process.getBuiltinModule('node:http');

export interface RpcServerOptions {
  readonly manager: Manager;
  readonly streams: Streams;
  readonly downloadLogs: DownloadLogs;
  readonly local: LocalEdge;
  readonly house: HouseSwitch;
  readonly offers: Offers;
  readonly shares: Shares;
  readonly outgoing: Outgoing;
  readonly token: string;
  readonly state: string;
  readonly version: string;
  readonly allowedOrigins: readonly string[];
  readonly parseMetalink: ParseMetalink;
  readonly sessions: Sessions;
  /** The daemon's side for other machines, if it serves any. */
  readonly remote: Remote | undefined;
  /** Folder of the page's files. */
  readonly page: string;
  /** Called when a client wants the daemon to end, after the client has had its answer. */
  readonly onShutdown: () => void;
}

export class RpcServer {
  readonly #options: RpcServerOptions;
  readonly #http: Server;
  readonly #doors: readonly Door[];
  readonly #notifier: Notifier;
  readonly #live: LiveFeed;
  readonly #codes = new LoginCodes(() => performance.now());
  readonly #loginPages: LoginPages;
  #guard: GuardOptions | undefined;

  constructor(options: RpcServerOptions) {
    this.#options = options;
    const secret = new Secret(options.token);
    this.#notifier = new Notifier(options.manager);
    this.#live = new LiveFeed({
      manager: options.manager,
      downloadLogs: options.downloadLogs,
      shares: options.shares.list,
      settings: () => settingsOf(options.manager, options.local.url),
      clock: () => performance.now(),
    });
    this.#loginPages = new LoginPages(options.state, GOOD_FOR_MS);
    const shared = {
      ...options,
      notifier: this.#notifier,
      live: this.#live,
      loginLink: () => this.#loginLink(),
      loginPage: (urls: readonly string[]) =>
        this.#loginPages.make(withOffered(this.#loginLink(), urls)),
    };
    const dispatcher = new Dispatcher(
      new Map([...aria2Methods(shared), ...millraceMethods(shared)]),
      NOTIFICATIONS,
      secret,
      (name, params, caller) => checkedCall(name, params, caller, placesOf(options.manager)),
    );
    this.#http = createServer(HTTP_LIMITS);
    const entrance = new LocalEntrance({
      secret,
      sessions: options.sessions,
      login: new SessionRoute({
        onCode: () => void this.#loginPages.clear(),
        sessions: options.sessions,
        codes: this.#codes,
        secret,
        now: () => performance.now(),
      }),
      guard: () => this.#guard as GuardOptions,
    });
    const { outgoing, remote } = options;
    const common = { dispatcher, notifier: this.#notifier, outgoing };
    const page = new StaticPage(options.page, entrance.socketScheme);
    this.#doors = [
      new Door({ server: this.#http, opened: 'connection', entrance, page, ...common }),
    ];
    if (remote === undefined) return;
    const remotePage = new StaticPage(options.page, remote.entrance.socketScheme);
    const { server, opened, entrance: outer } = remote;
    this.#doors = [
      ...this.#doors,
      new Door({ server, opened, entrance: outer, page: remotePage, ...common }),
    ];
  }

  /**
   * Binds the server to an address.
   *
   * @param port undefined for the usual port, or a free one if that is taken
   * @throws MillraceError `bad-option` for an address that other machines can reach, or that cannot
   *   be bound
   */
  async listen(host: string, port: number | undefined, usual: number) {
    if (!isLoopback(host))
      throw new MillraceError('bad-option', `${host} is not a loopback address`);
    try {
      await this.#listenAt(host, port ?? usual);
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (port !== undefined || !taken) {
        throw new MillraceError('bad-option', String(error), { cause: error });
      }
      await this.#listenAt(host, 0);
    }
    const { address, port: actual } = this.#http.address() as AddressInfo;
    this.#guard = { address, port: actual, allowedOrigins: this.#options.allowedOrigins };
    await this.#loginPages.sweep();
    const authority = this.#authority;
    return { url: `http://${authority}${RPC_PATH}`, ws: `ws://${authority}${RPC_PATH}` };
  }

  #loginLink(): string {
    return `http://${this.#authority}/#code=${this.#codes.make()}`;
  }

  get #authority(): string {
    const { address, port } = this.#guard as GuardOptions;
    return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  }

  async close(): Promise<void> {
    this.#notifier.close();
    this.#live.close();
    await this.#loginPages.clear();
    await Promise.all(this.#doors.map((door) => door.close()));
  }

  async #listenAt(host: string, port: number): Promise<void> {
    this.#http.listen(port, host);
    await once(this.#http, 'listening');
  }
}

/** Returns the folders that downloads of other machines may go to. */
function placesOf({ dir, settings }: Manager): Places {
  return { root: dir, others: settings.categories.map(({ folder }) => resolve(dir, folder)) };
}
