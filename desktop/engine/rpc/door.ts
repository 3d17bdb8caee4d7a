/**
 * Serves one address of the daemon: JSON-RPC at `/jsonrpc`, over HTTP and WebSocket, XML-RPC at
 * `/rpc`, log-in, and the page at all other paths. Who may come is up to the entrance.
 */

import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { RPC_PATH, SESSION_ENDED, XML_RPC_PATH } from '@millrace/shared/bridge/page/session-api';
import { OUTGOING_PATH } from '@millrace/shared/bridge/rpc/share-api';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Outgoing } from '../shares/outgoing.ts';
import { ConnectionPlaces } from '../web/connection-places.ts';
import type { Entrance } from '../web/entrance.ts';
import { takePiece } from '../web/outgoing-route.ts';
import { RequestBodies } from '../web/request-bodies.ts';
import type { StaticPage } from '../web/static-page.ts';
import type { CallContext, Dispatcher, Subscriber } from './calls/dispatcher.ts';
import { answerJson, answerQuery, answerXml, type HttpAnswer } from './calls/http-answers.ts';
import type { Notifier } from './calls/notifier.ts';

export interface DoorOptions {
  /** Server that gives connections and requests; not listening yet. */
  readonly server: Server;
  /** Event of the server for a connection that can carry requests. */
  readonly opened: 'connection' | 'secureConnection';
  readonly entrance: Entrance;
  readonly dispatcher: Dispatcher;
  readonly notifier: Notifier;
  readonly outgoing: Outgoing;
  readonly page: StaticPage;
}

/** Longest body of a request, in bytes. aria2 takes 2 MiB, but Metalink documents may be larger. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** Most bytes of all bodies that are being read. */
const MAX_BODIES_BYTES = 4 * MAX_BODY_BYTES;
/**
 * Most connections, and most WebSockets among them. Strangers are clients that have not shown who
 * they are.
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
/**
 * Longest message, in bytes, over a WebSocket whose client has not shown who it is yet, and of XML,
 * which only its reader can tell whose it is: aria2's own limit.
 */
const MAX_STRANGE_MESSAGE_BYTES = 2 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** Close code from RFC 6455's registry: the server is overloaded. */
const TRY_AGAIN_LATER = 1013;

/**
 * Time that an idle connection stays open beyond what its client is told: a client that is held up
 * still does not ask on a connection that is just being closed.
 */
const KEEP_ALIVE_BEYOND_MS = 30_000;

/** Limits of the HTTP server of a door. */
export const HTTP_LIMITS = {
  keepAliveTimeoutBuffer: KEEP_ALIVE_BEYOND_MS,
  maxHeaderSize: 16 * 1024,
  requestTimeout: REQUEST_TIMEOUT_MS,
  headersTimeout: REQUEST_TIMEOUT_MS,
} as const;

export class Door {
  readonly #options: DoorOptions;
  readonly #http: Server;
  readonly #webSockets = upgrades(MAX_BODY_BYTES);
  readonly #strangeWebSockets = upgrades(MAX_STRANGE_MESSAGE_BYTES);
  readonly #bodies = new RequestBodies({ one: MAX_BODY_BYTES, all: MAX_BODIES_BYTES });
  /** WebSockets of recognised senders, with the ids of these. */
  readonly #senders = new Map<WebSocket, string>();
  readonly #connections = new ConnectionPlaces<Socket>(CONNECTIONS);
  readonly #places = new ConnectionPlaces<WebSocket>(WEB_SOCKETS);

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#http = options.server;
    options.entrance.onGone((id) => {
      for (const [socket, owner] of this.#senders) {
        if (owner === id) socket.close(SESSION_ENDED);
      }
    });
    this.#http.on(options.opened, (socket: Socket) => {
      this.#connections.enter(socket, false)?.destroy();
      socket.on('close', () => this.#connections.leave(socket));
    });
    // A failure of one request ends only that request.
    this.#http.on('request', (req, res) => this.#handle(req, res).catch(() => res.destroy()));
    this.#http.on('upgrade', (req, socket, head) => this.#upgrade(req, socket, head));
  }

  /** Takes no more connections, and ends the open ones after a moment. */
  async close(): Promise<void> {
    for (const socket of this.#sockets()) socket.close(1001);
    if (!this.#http.listening) return;
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

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { entrance, outgoing, page } = this.#options;
    const path = pathOf(req);
    const isPiece = path.startsWith(OUTGOING_PATH);
    const isCall = path === RPC_PATH || path === XML_RPC_PATH || isPiece;
    const own = isCall || entrance.isLogIn(path);
    const refusal = own ? entrance.refuse(req) : entrance.refusePage(req);
    if (refusal !== undefined) return say(res, refusal.status, refusal.reason);
    if (isPiece) return takePiece(req, res, outgoing, entrance.trust(req).trusted);
    if (isCall) return this.#answer(req, res, path);
    return own ? entrance.logIn(req, res, path) : page.serve(req, res, path);
  }

  async #answer(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const { entrance, dispatcher } = this.#options;
    const allowed = entrance.allowedOrigin(req);
    if (allowed !== undefined) allow(res, allowed);
    if (req.method === 'OPTIONS') return void res.writeHead(204).end();
    const isQuery = req.method === 'GET' && path === RPC_PATH;
    if (isQuery && entrance.trust(req).remote === undefined) return this.#answerQuery(req, res);
    if (req.method !== 'POST') {
      res.setHeader('allow', 'POST');
      return say(res, 405, 'only POST is accepted here');
    }
    const body = await this.#bodies.read(req);
    if ('refused' in body) {
      res.setHeader('connection', 'close');
      return body.refused === 'too-long'
        ? say(res, 413, `a request has at most ${MAX_BODY_BYTES} bytes`)
        : say(res, 503, 'too much is being sent at a time: try again');
    }
    if (path !== RPC_PATH && Buffer.byteLength(body.text) > MAX_STRANGE_MESSAGE_BYTES) {
      return say(res, 413, `XML has at most ${MAX_STRANGE_MESSAGE_BYTES} bytes`);
    }
    const { trusted, token, remote } = entrance.trust(req);
    const onTrusted = () => this.#connections.know(req.socket);
    if (trusted) onTrusted();
    const context = { trusted, token, remote, subscriber: undefined, onTrusted };
    const answer = path === RPC_PATH ? answerJson : answerXml;
    return reply(res, await answer(dispatcher, body.text, context));
  }

  /**
   * Answers a call in a query. A page's session does not count for it: any page can make a browser
   * send a GET. Other machines call by POST alone: servers in between write down addresses, and the
   * token would be part of them.
   */
  async #answerQuery(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { entrance, dispatcher } = this.#options;
    const { token } = entrance.trust(req);
    const onTrusted = () => this.#connections.know(req.socket);
    const query = (req.url ?? '').replace(/^[^?]*\??/, '');
    const context = { trusted: token, token, subscriber: undefined, onTrusted };
    reply(res, await answerQuery(dispatcher, query, context));
  }

  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { entrance } = this.#options;
    const refusal = entrance.refuse(req);
    if (refusal !== undefined) return refuseUpgrade(socket, refusal.status);
    if (pathOf(req) !== RPC_PATH) return refuseUpgrade(socket, 404);
    (socket as Socket).setNoDelay(true);
    const { id, ...trust } = entrance.trust(req);
    const webSockets = trust.trusted ? this.#webSockets : this.#strangeWebSockets;
    webSockets.handleUpgrade(req, socket, head, (webSocket) => {
      const onTrusted = (sender?: string) => {
        this.#connections.know(req.socket);
        this.#places.know(webSocket);
        if (sender !== undefined) this.#senders.set(webSocket, sender);
      };
      if (trust.trusted) this.#connections.know(req.socket);
      this.#places.enter(webSocket, trust.trusted)?.close(TRY_AGAIN_LATER);
      if (id !== undefined) this.#senders.set(webSocket, id);
      this.#serve(webSocket, { ...trust, onTrusted });
    });
  }

  #sockets(): WebSocket[] {
    return [...this.#webSockets.clients, ...this.#strangeWebSockets.clients];
  }

  #serve(webSocket: WebSocket, trust: Omit<CallContext, 'subscriber'>): void {
    const { dispatcher, notifier } = this.#options;
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
    let listens = false;
    const listen = () => {
      if (!listens) closed.add(notifier.listenAria2(subscriber));
      listens = true;
    };
    const onTrusted = (id?: string) => {
      trust.onTrusted?.(id);
      listen();
    };
    const context: CallContext = { ...trust, subscriber, onTrusted };
    // aria2's notifications contain only gids; its clients on this machine listen without a token.
    if (trust.remote === undefined || trust.trusted) listen();
    webSocket.on('error', () => webSocket.terminate());
    webSocket.on('close', () => {
      this.#senders.delete(webSocket);
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
      // Calls are answered in order, one at a time, because they build on each other. One that waits
      // for a server or a program must not hold up what the user does meanwhile.
      last = last.then(
        () =>
          new Promise((onWaiting) => {
            void dispatcher.answer(text, { ...context, onWaiting }).then(({ body }) => {
              waiting--;
              waitingBytes -= bytes;
              sendText(JSON.stringify(body));
              onWaiting();
            });
          }),
      );
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

function reply(res: ServerResponse, { status, type, text }: HttpAnswer): void {
  res.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  res.end(text);
}

function say(res: ServerResponse, status: number, reason: string): void {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${reason}\n`);
}

function refuseUpgrade(socket: Duplex, status: number): void {
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
