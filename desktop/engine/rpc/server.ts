/**
 * The daemon's server on loopback: JSON-RPC at `/jsonrpc`, log-in at `/session`, and the page at
 * all other paths.
 */

import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  RPC_PATH,
  SESSION_ENDED,
  SESSION_PATH,
  withOffered,
} from '@millrace/shared/bridge/page/session-api';
import { OUTGOING_PATH } from '@millrace/shared/bridge/rpc/share-api';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Manager } from '../downloads/manager.ts';
import type { ParseMetalink } from '../downloads/metalinks.ts';
import type { Streams } from '../downloads/streams.ts';
import type { Offers } from '../offers/offers.ts';
import type { Outgoing } from '../shares/outgoing.ts';
import type { Shares } from '../shares/shares.ts';
import { type LocalEdge, settingsOf } from '../views/app-settings.ts';
import type { DownloadLogs } from '../views/download-logs.ts';
import { ConnectionPlaces } from '../web/connection-places.ts';
import { type GuardOptions, isLoopback, isOwnOrigin, refuse, Secret } from '../web/guard.ts';
import { GOOD_FOR_MS, LoginCodes } from '../web/login-codes.ts';
import { LoginPages } from '../web/login-page.ts';
import { takePiece } from '../web/outgoing-route.ts';
import { refusePage } from '../web/page-guard.ts';
import { RequestBodies } from '../web/request-bodies.ts';
import { SessionRoute } from '../web/session-route.ts';
import type { Sessions } from '../web/sessions.ts';
import { StaticPage } from '../web/static-page.ts';
import { aria2Methods } from './aria2/methods.ts';
import { type CallContext, Dispatcher, type Subscriber } from './calls/dispatcher.ts';
import { LiveFeed } from './calls/live-feed.ts';
import { NOTIFICATIONS, Notifier } from './calls/notifier.ts';
import { millraceMethods } from './millrace/methods.ts';

// An import of node:http would also load its fetch and WebSocket, a tenth of the start-up time.
const { createServer } = process.getBuiltinModule('node:http');

export interface RpcServerOptions {
  readonly manager: Manager;
  readonly streams: Streams;
  readonly downloadLogs: DownloadLogs;
  readonly local: LocalEdge;
  readonly offers: Offers;
  readonly shares: Shares;
  readonly outgoing: Outgoing;
  readonly token: string;
  readonly state: string;
  readonly version: string;
  readonly allowedOrigins: readonly string[];
  readonly parseMetalink: ParseMetalink;
  readonly sessions: Sessions;
  /** Folder of the page's files. */
  readonly page: string;
  /** Called when a client wants the daemon to end, after the client has had its answer. */
  readonly onShutdown: () => void;
}

/** Longest body of a request, in bytes. aria2 takes 2 MiB, but Metalink documents may be larger. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** Most bytes of all bodies that are being read. */
const MAX_BODIES_BYTES = 4 * MAX_BODY_BYTES;
/**
 * Most connections, and most WebSockets among them. Strangers are clients that have not shown the
 * token.
 */
const CONNECTIONS = { all: 256, strangers: 192 };
const WEB_SOCKETS = { all: 64, strangers: 32 };
/** Unread bytes at which a client is disconnected. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** Unread bytes from which live updates for a client are put off. */
const CONGESTED_BYTES = 1024 * 1024;
/** Most calls of one client that wait for an answer, and the most bytes of such calls. */
const MAX_WAITING_CALLS = 1000;
const MAX_WAITING_BYTES = 2 * MAX_BODY_BYTES;
/** Longest message, in bytes, over a WebSocket whose client has not shown the token yet. */
const MAX_STRANGE_MESSAGE_BYTES = 2 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** Close code from RFC 6455's registry: the server is overloaded. */
const TRY_AGAIN_LATER = 1013;

export class RpcServer {
  readonly #options: RpcServerOptions;
  readonly #http: Server;
  readonly #webSockets = upgrades(MAX_BODY_BYTES);
  readonly #strangeWebSockets = upgrades(MAX_STRANGE_MESSAGE_BYTES);
  readonly #dispatcher: Dispatcher;
  readonly #secret: Secret;
  readonly #notifier: Notifier;
  readonly #live: LiveFeed;
  readonly #codes = new LoginCodes(() => performance.now());
  readonly #loginPages: LoginPages;
  readonly #page: StaticPage;
  readonly #login: SessionRoute;
  readonly #bodies = new RequestBodies({ one: MAX_BODY_BYTES, all: MAX_BODIES_BYTES });
  /** WebSockets of logged-in pages, with their sessions. */
  readonly #bySession = new Map<WebSocket, string>();
  readonly #connections = new ConnectionPlaces<Socket>(CONNECTIONS);
  readonly #places = new ConnectionPlaces<WebSocket>(WEB_SOCKETS);
  #guard: GuardOptions | undefined;

  constructor(options: RpcServerOptions) {
    this.#options = options;
    this.#secret = new Secret(options.token);
    this.#notifier = new Notifier(options.manager);
    this.#live = new LiveFeed({
      manager: options.manager,
      downloadLogs: options.downloadLogs,
      shares: options.shares.list,
      settings: () => settingsOf(options.manager, options.local.url),
      clock: () => performance.now(),
    });
    this.#page = new StaticPage(options.page);
    this.#loginPages = new LoginPages(options.state, GOOD_FOR_MS);
    this.#login = new SessionRoute({
      onCode: () => void this.#loginPages.clear(),
      sessions: options.sessions,
      codes: this.#codes,
      secret: this.#secret,
      now: () => performance.now(),
    });
    options.sessions.listen((session) => {
      for (const [socket, owner] of this.#bySession) {
        if (owner === session) socket.close(SESSION_ENDED);
      }
    });
    const shared = {
      ...options,
      notifier: this.#notifier,
      live: this.#live,
      loginLink: () => this.#loginLink(),
      loginPage: (urls: readonly string[]) =>
        this.#loginPages.make(withOffered(this.#loginLink(), urls)),
    };
    this.#dispatcher = new Dispatcher(
      new Map([...aria2Methods(shared), ...millraceMethods(shared)]),
      NOTIFICATIONS,
      this.#secret,
    );
    this.#http = createServer({
      maxHeaderSize: 16 * 1024,
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
    });
    this.#http.on('connection', (socket: Socket) => {
      this.#connections.enter(socket, false)?.destroy();
      socket.on('close', () => this.#connections.leave(socket));
    });
    // A failure of one request ends only that request.
    this.#http.on('request', (req, res) => this.#handle(req, res).catch(() => res.destroy()));
    this.#http.on('upgrade', (req, socket, head) => this.#upgrade(req, socket, head));
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
    for (const socket of this.#sockets()) socket.close(1001);
    const closed = once(this.#http, 'close');
    this.#http.close();
    this.#http.closeIdleConnections();
    // Answers under way get half a second; then their connections are closed.
    const timer = setTimeout(() => {
      for (const socket of this.#sockets()) socket.terminate();
      this.#http.closeAllConnections();
    }, 500);
    await closed;
    clearTimeout(timer);
  }

  async #listenAt(host: string, port: number): Promise<void> {
    this.#http.listen(port, host);
    await once(this.#http, 'listening');
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = pathOf(req);
    const isPiece = path.startsWith(OUTGOING_PATH);
    const own = path === RPC_PATH || path === SESSION_PATH || isPiece;
    const refusal = (own ? refuse : refusePage)(req, this.#guard as GuardOptions);
    if (refusal !== undefined) return say(res, refusal.status, refusal.reason);
    if (path === SESSION_PATH) return this.#login.serve(req, res);
    if (isPiece) return takePiece(req, res, this.#options.outgoing, this.#trust(req).trusted);
    return own ? this.#answer(req, res) : this.#page.serve(req, res, path);
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { origin } = req.headers;
    if (origin !== undefined && this.#options.allowedOrigins.includes(origin)) allow(res, origin);
    if (req.method === 'OPTIONS') return void res.writeHead(204).end();
    if (req.method !== 'POST') {
      res.setHeader('allow', 'POST');
      return say(res, 405, 'only POST is accepted: any page in a browser can send a GET (JSONP)');
    }
    const body = await this.#bodies.read(req);
    if ('refused' in body) {
      res.setHeader('connection', 'close');
      return body.refused === 'too-long'
        ? say(res, 413, `a request has at most ${MAX_BODY_BYTES} bytes`)
        : say(res, 503, 'too much is being sent at a time: try again');
    }
    const { trusted, token } = this.#trust(req);
    const onTrusted = () => this.#connections.know(req.socket);
    if (trusted) onTrusted();
    const context = { trusted, token, subscriber: undefined, onTrusted };
    const answer = await this.#dispatcher.answer(body.text, context);
    const text = JSON.stringify(answer.body);
    res.writeHead(answer.status, {
      'content-type': 'application/json-rpc',
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
    });
    res.end(text);
  }

  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const refusal = refuse(req, this.#guard as GuardOptions);
    if (refusal !== undefined) return refuseUpgrade(socket, refusal.status);
    if (pathOf(req) !== RPC_PATH) return refuseUpgrade(socket, 404);
    (socket as Socket).setNoDelay(true);
    const { session, ...trust } = this.#trust(req);
    const webSockets = trust.trusted ? this.#webSockets : this.#strangeWebSockets;
    webSockets.handleUpgrade(req, socket, head, (webSocket) => {
      const onTrusted = () => {
        this.#connections.know(req.socket);
        this.#places.know(webSocket);
      };
      if (trust.trusted) this.#connections.know(req.socket);
      this.#places.enter(webSocket, trust.trusted)?.close(TRY_AGAIN_LATER);
      if (session !== undefined) this.#bySession.set(webSocket, session);
      this.#serve(webSocket, { ...trust, onTrusted });
    });
  }

  #sockets(): WebSocket[] {
    return [...this.#webSockets.clients, ...this.#strangeWebSockets.clients];
  }

  /** Identifies the sender of a request: a holder of the token, or our own logged-in page. */
  #trust(req: IncomingMessage): { trusted: boolean; token: boolean; session?: string } {
    const token = this.#secret.inHeader(req);
    const session = isOwnOrigin(req) ? this.#options.sessions.of(req) : undefined;
    return { trusted: token || session !== undefined, token, ...(session && { session }) };
  }

  #serve(webSocket: WebSocket, trust: Omit<CallContext, 'subscriber'>): void {
    const closed = new Set<() => void>();
    const sendText = (text: string) => {
      if (webSocket.readyState !== webSocket.OPEN) return;
      if (webSocket.bufferedAmount > MAX_UNREAD_BYTES) return webSocket.terminate();
      webSocket.send(text);
    };
    const subscriber: Subscriber = {
      send: (method, params) => sendText(JSON.stringify({ jsonrpc: '2.0', method, params })),
      congested: () => webSocket.bufferedAmount > CONGESTED_BYTES,
      onClosed: (listener) => void closed.add(listener),
    };
    const context: CallContext = { ...trust, subscriber };
    // aria2's notifications contain only gids; its clients listen without a token.
    closed.add(this.#notifier.listenAria2(subscriber));
    webSocket.on('error', () => webSocket.terminate());
    webSocket.on('close', () => {
      this.#bySession.delete(webSocket);
      this.#places.leave(webSocket);
      for (const listener of closed) listener();
    });
    let last: Promise<void> = Promise.resolve();
    let waiting = 0;
    let waitingBytes = 0;
    webSocket.on('message', (data) => {
      const text = String(data);
      const bytes = Buffer.byteLength(text);
      waitingBytes += bytes;
      if (++waiting > MAX_WAITING_CALLS || waitingBytes > MAX_WAITING_BYTES) {
        return webSocket.terminate();
      }
      // Calls are answered in order, one at a time, because they build on each other.
      last = last.then(async () => {
        const { body } = await this.#dispatcher.answer(text, context);
        waiting--;
        waitingBytes -= bytes;
        sendText(JSON.stringify(body));
      });
    });
  }
}

/** @param maxPayload longest message, in bytes */
function upgrades(maxPayload: number): WebSocketServer {
  return new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false });
}

/** Returns the path of the URL, still encoded; empty if the text is not a URL. */
function pathOf(req: IncomingMessage): string {
  return URL.parse(req.url ?? '', 'http://x')?.pathname ?? '';
}

function allow(res: ServerResponse, origin: string): void {
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-allow-methods', 'POST');
  res.setHeader('access-control-allow-headers', 'authorization, content-type');
  res.setHeader('vary', 'origin');
}

function say(res: ServerResponse, status: number, reason: string): void {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${reason}\n`);
}

function refuseUpgrade(socket: Duplex, status: number): void {
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
