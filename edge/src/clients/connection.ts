/**
 * A client's connection and its response, whichever version of HTTP they are of. With HTTP/2 a
 * response is a stream among others of one connection: cutting it off must not touch the others.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerResponse, Http2Session, ServerHttp2Stream } from 'node:http2';
import { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';

const sockets = new WeakMap<Http2Session, Socket>();

/** Remembers which connection a session of HTTP/2 is on; Node only shows a stand-in for it. */
export function rememberConnection(session: Http2Session, socket: Socket): void {
  sockets.set(session, socket);
}

/** The stream of an HTTP/2 response; undefined with HTTP/1.1. */
export function streamOf(res: ServerResponse): ServerHttp2Stream | undefined {
  return (res as unknown as Partial<Http2ServerResponse>).stream;
}

/** The connection that a request has come on, which with HTTP/2 others share. */
export function connectionOf(req: IncomingMessage, res: ServerResponse): Socket {
  const session = streamOf(res)?.session;
  return (session === undefined ? undefined : sockets.get(session)) ?? req.socket;
}

/**
 * Whether all of a response has been handed on. Node also ends an HTTP/2 stream that a client has
 * reset, so that it looks finished: only a stream that this process has ended counts.
 */
export function isComplete(res: ServerResponse): boolean {
  const stream = streamOf(res);
  if (stream === undefined) return res.writableFinished;
  return res.writableEnded && stream.writableFinished && stream.rstCode === 0;
}

/** Whether a response can still be given a status and a header. */
export function canAnswer(res: ServerResponse): boolean {
  return !res.headersSent && !(streamOf(res) ?? res).destroyed;
}

/**
 * Ends a response.
 *
 * @returns resolves when all of it has been handed on
 * @throws MillraceError `interrupted` where the client leaves before
 */
export function endResponse(res: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    res.once('close', () => {
      if (isComplete(res)) resolve();
      else reject(new MillraceError('interrupted', 'client left'));
    });
    res.end(() => resolve());
  });
}

/**
 * Cuts a response off so that no client can take the part for the whole: RST_STREAM (RFC 9113
 * 5.4.2), or a reset of the connection.
 */
export function resetResponse(res: ServerResponse): void {
  const stream = streamOf(res);
  // Not close(): that would first end the stream, which is how complete responses end.
  if (stream !== undefined) stream.destroy(new Error('response cut off'));
  else resetConnection(res.socket);
}

/** Whether the connection of a request, or its stream of HTTP/2, is closed already. */
export function hasLeft(req: IncomingMessage, res: ServerResponse): boolean {
  return (streamOf(res) ?? req.socket).destroyed;
}

/** The connection below TLS, which the kernel knows; without TLS the connection itself. */
export function bottomSocket(socket: Socket): Socket {
  // Node has no public way to it.
  const below = (socket as { _parent?: unknown })._parent;
  return below instanceof Socket ? below : socket;
}

/** A reset cannot pass for an end, whatever the client's HTTP library does with FINs. */
export function resetConnection(socket: Socket | null): void {
  // Below TLS is the connection that can be reset; Node has no public way to it.
  const below = (socket as { _parent?: unknown } | null)?._parent;
  if (below instanceof Socket) {
    below.resetAndDestroy();
    socket?.destroy();
  } else if (socket !== null && 'resetAndDestroy' in socket) socket.resetAndDestroy();
  else (socket as Socket | null)?.destroy();
}

/**
 * Calls back each time a client has taken nothing for the given time.
 *
 * @param ms without any byte taken; asked each time
 */
export function onStall(
  req: IncomingMessage,
  res: ServerResponse,
  ms: () => Millis,
  stalled: () => void,
): void {
  const stream = streamOf(res);
  if (stream !== undefined) {
    const again = () => {
      stalled();
      if (!stream.destroyed) stream.setTimeout(ms(), again);
    };
    stream.setTimeout(ms(), again);
    return;
  }
  req.socket.setTimeout(ms());
  // With a listener here Node takes no action of its own; afterwards its timeout for idle
  // connections applies.
  res.on('timeout', () => {
    stalled();
    if (!req.socket.destroyed) req.socket.setTimeout(ms());
  });
}

/**
 * Bytes that have been written to a response and that the client's system has not taken. Node
 * counts a write until all of it is taken; libuv knows how much of it is left.
 */
export function untakenBytes(res: ServerResponse): number {
  const { writableLength, socket } = res;
  if (streamOf(res) !== undefined || socket === null || 'encrypted' in socket)
    return writableLength;
  const { _handle: handle, _writableState: state } = socket as unknown as {
    readonly _handle?: { readonly writeQueueSize?: unknown } | null;
    readonly _writableState?: { readonly writelen?: unknown };
  };
  const [left, begun] = [handle?.writeQueueSize, state?.writelen];
  if (typeof left !== 'number' || typeof begun !== 'number') return writableLength;
  return Math.max(0, writableLength - begun + left);
}

/** Has `onStall` call back after another time, which begins now. */
export function setPatience(req: IncomingMessage, res: ServerResponse, ms: Millis): void {
  (streamOf(res) ?? req.socket).setTimeout(ms);
}
