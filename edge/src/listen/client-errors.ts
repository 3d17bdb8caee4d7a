/**
 * Answers bytes of a client that are not a request on an HTTP/1.1 connection. They get an error if no
 * response is owed on the connection. Responses that are owed are sent first, whole, or the
 * connection is reset: an error never adds a byte to a response, and never ends one as if it were
 * complete.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import { HEADERS_MS } from './http-limits.ts';
import {
  abortWithConnection,
  keepBegunLine,
  type ParserError,
  unfinishedRequest,
  unfinishedResponse,
} from './http1-parser.ts';
import { parseRawTarget } from './raw-targets.ts';
import { isUploading } from './uploads.ts';

/** Statuses of requests that cannot be parsed, by the parser's or the server's code. */
const STATUSES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Content Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
/** Time for which a refused client may keep sending, so that it can read the error. */
const LINGER_MS: Millis = 1000;

/** Connections that end when the responses that were unfinished at an error have been sent. */
const ending = new WeakSet<Socket>();

/** The event by which a server takes a connection for HTTP/1.1. */
type Connected = 'connection' | 'secureConnection';

/** Watches a server's connections, and answers bytes on them that cannot be parsed. */
export function handleClientErrors(server: Server, connected: Connected = 'connection'): void {
  watchConnections(server, connected);
  server.on('clientError', onClientError);
}

/**
 * Resets a connection that a client ends while a response to it is unfinished, refuses CONNECT, and
 * keeps the beginnings of request lines that come in pieces.
 * For servers whose `clientError` goes to `onClientError` in another way.
 */
export function watchConnections(server: Server, connected: Connected = 'connection'): void {
  server.on(connected, (socket: Socket) => {
    abortWithConnection(socket);
    keepBegunLine(socket);
    // Node ends its side as well, in the middle of the response. That FIN could pass for the end of
    // a body of unknown length.
    socket.prependListener('end', () => {
      if (unfinishedResponse(socket)?.writableEnded === false) resetConnection(socket);
    });
  });
  // Without a listener Node destroys the connection, even while a response is sent on it.
  server.on('connect', (_req, socket) => {
    if (unfinishedResponse(socket as Socket) !== undefined) resetConnection(socket as Socket);
    else endWith(socket as Socket, answerOf('405 Method Not Allowed'));
  });
}

/** Answers bytes that are not a request. A listener for `clientError`, added once to each server. */
export function onClientError(error: ParserError, socket: Socket): void {
  if (ending.has(socket) || socket.destroyed) return;
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') onLate(error, socket);
  else answerError(error, socket);
}

/**
 * Answers a request that is late. Node looks for these before it reads what has arrived: where this
 * process was kept from running, the request may be there.
 */
function onLate(error: ParserError, socket: Socket): void {
  if (isUploading(socket)) return;
  if (unfinishedResponse(socket) !== undefined) return answerError(error, socket);
  const { bytesWritten } = socket;
  setImmediate(() => {
    const isTaken = unfinishedResponse(socket) !== undefined || socket.bytesWritten > bytesWritten;
    if (!isTaken) answerError(error, socket);
  });
}

function answerError(error: ParserError, socket: Socket): void {
  if (ending.has(socket) || socket.destroyed) return;
  const refuse = (status: string) => endWith(socket, answerOf(status));
  const owed = unfinishedResponse(socket) !== undefined;
  if (!owed && parseRawTarget(error, socket, refuse)) return;
  ending.add(socket);
  // A raw target is not an error: if its connection closes without an answer, a client asks again.
  endAfterResponses(socket, owed && isRawByte(error) ? '' : answerTo(error));
}

/** Ends a connection with an answer, behind every response that is owed on it. */
function endAfterResponses(socket: Socket, answer: string): void {
  const response = unfinishedResponse(socket);
  if (socket.destroyed) return;
  if (response === undefined) return endWith(socket, answer);
  if (response.req !== unfinishedRequest(socket)) {
    response.once('close', () => endAfterResponses(socket, answer));
  } else if (response.headersSent) {
    // Its request cannot be completed, so the response must not look complete.
    resetConnection(socket);
  } else {
    endWith(socket, answer);
  }
}

function isRawByte({ code, rawPacket, bytesParsed = 0 }: ParserError): boolean {
  return code === 'HPE_INVALID_URL' && (rawPacket?.[bytesParsed] ?? 0) >= 0x80;
}

function answerTo({ code }: ParserError): string {
  return answerOf(STATUSES[code ?? ''] ?? '400 Bad Request');
}

function answerOf(status: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
}

/** Sends an answer behind everything that has been sent, and ends the connection. */
function endWith(socket: Socket, answer: string): void {
  // The last response ends the connection, or the client has ended it.
  if (!socket.writable) return;
  let timer = setTimeout(() => socket.destroy(), HEADERS_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.end(answer, 'latin1', () => {
    clearTimeout(timer);
    if (!socket.destroyed) timer = setTimeout(() => socket.destroy(), LINGER_MS);
  });
  // Discards bytes that still come: closing with unread bytes would reset the answer.
  socket.resume();
}
