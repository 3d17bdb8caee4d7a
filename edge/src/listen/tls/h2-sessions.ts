/**
 * Connections of HTTP/2 (RFC 9113): their limits, and their end. Streams have the limits of
 * requests; this file has those that only connections have.
 */

import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { isDepotTarget } from '@millrace/shared/http/urls/depot-link';
import { rememberConnection } from '../../clients/connection.ts';
import {
  H2_IDLE_MS,
  H2_INVALID_FRAMES,
  H2_MEMORY_MB,
  H2_RESET_BURST,
  H2_RESETS_PER_SECOND,
  H2_STREAMS,
  MAX_HEADER_BYTES,
  REQUEST_MS,
} from '../http-limits.ts';
import { holdContinue } from '../uploads.ts';

export type TakeRequest = (req: Http2ServerRequest, res: Http2ServerResponse) => void;

export class H2Sessions {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #idleMs: Millis;
  #socket: Socket | undefined;

  /**
   * @param take gets every request, with its Host set
   * @param idleMs longest time of a connection without a stream
   */
  constructor(take: TakeRequest, idleMs: Millis = H2_IDLE_MS) {
    this.#idleMs = idleMs;
    this.#server = createServer({
      settings: {
        maxConcurrentStreams: H2_STREAMS,
        maxHeaderListSize: MAX_HEADER_BYTES,
        enablePush: false,
      },
      // A client that keeps opening and resetting streams ("rapid reset") gets a GOAWAY.
      streamResetBurst: H2_RESET_BURST,
      streamResetRate: H2_RESETS_PER_SECOND,
      maxSessionInvalidFrames: H2_INVALID_FRAMES,
      maxSessionMemory: H2_MEMORY_MB,
    });
    this.#server.on('session', (session) => this.#added(session));
    this.#server.on('sessionError', () => {}); // the session ends by itself
    const onRequest = (req: Http2ServerRequest, res: Http2ServerResponse) => {
      if (!fixHost(req)) {
        req.stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
        return;
      }
      if (!isDepotTarget(req.url)) limitBody(req);
      take(req, res);
    };
    this.#server.on('request', onRequest);
    holdContinue(this.#server as never, onRequest as never);
  }

  /** Connections open. */
  get count(): number {
    return this.#sessions.size;
  }

  /** Takes a connection whose client has chosen h2. */
  take(socket: Socket): void {
    this.#socket = socket;
    this.#server.emit('connection', socket);
    this.#socket = undefined;
  }

  /** Tells all clients to open no more streams here (GOAWAY); open ones continue. */
  goAway(): void {
    for (const session of this.#sessions) session.close();
  }

  /** Ends all connections. */
  destroy(): void {
    for (const session of this.#sessions) session.destroy();
  }

  #added(session: ServerHttp2Session): void {
    if (this.#socket !== undefined) rememberConnection(session, this.#socket);
    this.#sessions.add(session);
    let open = 0;
    let idle: NodeJS.Timeout;
    // By streams, not by bytes: neither PINGs nor a header that never ends keep a connection open.
    const rest = () => {
      idle = setTimeout(() => end(session, this.#idleMs), this.#idleMs).unref();
    };
    rest();
    session.on('stream', (stream) => {
      open++;
      clearTimeout(idle);
      stream.once('close', () => {
        if (--open === 0 && !session.destroyed) rest();
      });
    });
    session.once('close', () => {
      clearTimeout(idle);
      this.#sessions.delete(session);
    });
    session.on('error', () => {}); // 'close' follows
  }
}

/** Sends GOAWAY, and ends the connection if it is still open after `waitMs`. */
function end(session: ServerHttp2Session, waitMs: Millis): void {
  session.close();
  setTimeout(() => session.destroy(), waitMs).unref();
}

/**
 * Turns :authority, HTTP/2's form of Host (RFC 9113 8.3.1), into Host.
 *
 * @returns false if a request has both, and they differ
 */
function fixHost(req: Http2ServerRequest): boolean {
  const { authority, headers } = req;
  if (authority === undefined || authority === '') return true;
  if (headers.host !== undefined && headers.host !== authority) return false;
  headers.host = authority;
  return true;
}

/** Cancels a request whose body takes longer than HTTP/1.1 allows. */
function limitBody(req: Http2ServerRequest): void {
  const { stream } = req;
  if (stream.endAfterHeaders) return;
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), REQUEST_MS).unref();
  const clear = () => clearTimeout(timer);
  stream.once('end', clear).once('close', clear);
}
