/**
 * A client's connection and its response, in any version of HTTP. With HTTP/2 a response is one of
 * several streams of a connection: cutting it off must not touch the others.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerResponse, Http2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { resetConnection } from '@millrace/shared/node/reset-connection';

const sockets = new WeakMap<Http2Session, Socket>();

/** Remembers the connection of an HTTP/2 session; Node only shows a stand-in for it. */
export function rememberConnection(session: Http2Session, socket: Socket): void {
  sockets.set(session, socket);
}

/** Returns the stream of an HTTP/2 response; undefined with HTTP/1.1. */
export function streamOf(res: ServerResponse): ServerHttp2Stream | undefined {
  return (res as unknown as Partial<Http2ServerResponse>).stream;
}

/** Returns the connection of a request, which with HTTP/2 other requests share. */
export function connectionOf(req: IncomingMessage, res: ServerResponse): Socket {
  const session = streamOf(res)?.session;
  return (session === undefined ? undefined : sockets.get(session)) ?? req.socket;
}

/**
 * Returns true if all of a response has been handed on. Node also ends HTTP/2 streams that a client
 * has reset, so that they look finished: only streams that we have ended ourselves are.
 */
export function isComplete(res: ServerResponse): boolean {
  const stream = streamOf(res);
  if (stream === undefined) return res.writableFinished;
  return res.writableEnded && stream.writableFinished && stream.rstCode === 0;
}

/** Returns true if a response can still be given a status and a header. */
export function canAnswer(res: ServerResponse): boolean {
  return !res.headersSent && !(streamOf(res) ?? res).destroyed;
}

/**
 * Ends a response.
 *
 * @returns resolves when all of it has been handed on
 * @throws MillraceError `interrupted` if the client leaves before
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
 * Cuts a response off so that no client can take the part that has come for the whole: RST_STREAM
 * (RFC 9113 5.4.2), or a reset of the connection.
 */
export function resetResponse(res: ServerResponse): void {
  const stream = streamOf(res);
  // Not close(): that would first end the stream, which is how complete responses end.
  if (stream !== undefined) stream.destroy(new Error('response cut off'));
  else resetConnection(res.socket);
}

/** Returns true if the connection of a request, or its stream of HTTP/2, is closed already. */
export function hasLeft(req: IncomingMessage, res: ServerResponse): boolean {
  return (streamOf(res) ?? req.socket).destroyed;
}

/**
 * Calls back whenever a client has taken nothing for a time.
 *
 * @param ms time without any byte taken; read again after each call
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
  // With a listener, Node leaves the reaction to us; after the response its own timeout for idle
  // connections takes over.
  res.on('timeout', () => {
    stalled();
    if (!req.socket.destroyed) req.socket.setTimeout(ms());
  });
}

/**
 * Returns the number of bytes that have been written to a response and that the kernel has not
 * taken for the client. Node counts a write in full until all of it is taken; libuv knows how much
 * of it is left.
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

/** Changes the time after which `onStall` calls back; the new time begins now. */
export function setPatience(req: IncomingMessage, res: ServerResponse, ms: Millis): void {
  (streamOf(res) ?? req.socket).setTimeout(ms);
}
