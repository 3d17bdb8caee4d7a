/**
 * Node's parser of an HTTP/1.1 connection, which has no public interface: everything that the edge
 * knows about its internals is here. If Node has changed them, `releaseParser` does nothing and
 * returns false.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BegunLine } from '@millrace/shared/http/urls/raw-target';

export interface ParserError extends Error {
  readonly code?: string;
  /** The bytes that were parsed when the parser failed. */
  readonly rawPacket?: Buffer;
  /** Offset in the packet of the byte that the parser has refused. */
  readonly bytesParsed?: number;
}

interface Parser {
  /** The last request whose header has come, while it or its response is unfinished. */
  readonly incoming: IncomingMessage | null;
  onIncoming: ((req: IncomingMessage, keepAlive: boolean) => number) | null;
  /** Copy of the packet that is being parsed, for parsers that read their connection themselves. */
  getCurrentBuffer?(): Uint8Array;
  /** By `kOnExecute`: called after each packet, with the bytes parsed or an error. */
  [callback: number]: ((parsed: number | Error) => void) | null | undefined;
}

interface HttpSocket extends Socket {
  parser?: Parser | null;
  /** The response that is being sent; others that wait are behind it. */
  _httpMessage?: ServerResponse | null;
  /** The server that the connection belongs to. */
  server?: Server;
}

type Listener = (...args: unknown[]) => void;

const ON_CLOSE = 'bound socketOnClose';
/** Node's listeners on a connection, by event, with the names of their functions. */
const LISTENERS: readonly (readonly [event: string, name: string])[] = [
  ['data', 'bound socketOnData'],
  ['end', 'bound socketOnEnd'],
  ['close', ON_CLOSE],
  ['drain', 'bound socketOnDrain'],
  ['timeout', 'socketOnTimeout'],
];
/** Listeners that Node itself may have removed. */
const OPTIONAL_LISTENERS: typeof LISTENERS = [
  ['error', 'socketOnError'],
  ['pause', 'onSocketPause'],
  ['resume', 'onSocketResume'],
];

const { createServer } = process.getBuiltinModule('node:http');
/** Node's own handler of a new HTTP/1.1 connection. */
const [takeConnection] = createServer().listeners('connection') as Listener[];

/**
 * Returns the response that is being sent on a connection, or is next; undefined if nothing is
 * owed.
 */
export function unfinishedResponse(socket: Socket): ServerResponse | undefined {
  return (socket as HttpSocket)._httpMessage ?? undefined;
}

/** Returns the request whose header has come but not yet all of its body. */
export function unfinishedRequest(socket: Socket): IncomingMessage | undefined {
  const incoming = (socket as HttpSocket).parser?.incoming ?? undefined;
  return incoming?.complete === false ? incoming : undefined;
}

/**
 * Aborts all requests and responses of a connection when it closes. Node stops doing so when the
 * client sends CONNECT: responses queued behind others would never end.
 */
export function abortWithConnection(socket: Socket): void {
  const onClose = find(socket, 'close', ON_CLOSE);
  if (onClose !== undefined) socket.on('close', () => onClose());
}

/** Incomplete request lines. */
const begunLines = new WeakMap<Socket, BegunLine>();

/**
 * Keeps the part of a request's line that comes before its last packet. Costs nothing if a head
 * comes in one packet: only packets that complete no head, and are not part of a body, are copied.
 *
 * The next line may begin in the packet in which the request before it ends. Its place is known if
 * that request has no body. Behind a body the packet counts as the former request only: the kept
 * line may then begin within a method, but never becomes a valid request line, because no method of
 * the parser ends with GET or HEAD.
 */
export function keepBegunLine(socket: Socket): void {
  const { parser } = socket as HttpSocket;
  const onExecute = callbackAt(parser);
  if (parser === undefined || parser === null || onExecute === undefined) return;
  const call = parser[onExecute];
  const { onIncoming } = parser;
  if (typeof call !== 'function' || onIncoming === null) return;
  const line = new BegunLine();
  let request: IncomingMessage | undefined;
  let headCame = false;
  let inBody = false;
  let hasBody = false;
  begunLines.set(socket, line);
  parser.onIncoming = (req, keepAlive) => {
    request = req;
    headCame = true;
    hasBody ||= mayHaveBody(req);
    return onIncoming(req, keepAlive);
  };
  parser[onExecute] = (parsed) => {
    if (typeof parsed === 'number') {
      const packet = () => parser.getCurrentBuffer?.() ?? new Uint8Array();
      if (inBody || (headCame && hasBody)) line.restart();
      else if (headCame) line.restartBehindHead(packet());
      else line.add(packet());
      headCame = false;
      hasBody = false;
      inBody = request?.complete === false;
      if (!inBody) request = undefined;
    }
    call(parsed);
  };
}

/** Returns true if bytes behind a request's head, in its packet, may not be another request. */
function mayHaveBody({ headers, method }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding, upgrade } = headers;
  return length !== '0' || encoding !== undefined || upgrade !== undefined || method === 'CONNECT';
}

/**
 * Returns the bytes of a request's line before the packet at which the parser has failed; undefined
 * if they are not known, because the line has ended.
 */
export function begunLine(socket: Socket): Uint8Array | undefined {
  const line = begunLines.get(socket);
  return line === undefined ? new Uint8Array() : line.bytes;
}

function callbackAt(parser: Parser | null | undefined): number | undefined {
  const { kOnExecute } = (parser?.constructor ?? {}) as { kOnExecute?: unknown };
  return typeof kOnExecute === 'number' ? kOnExecute : undefined;
}

/**
 * Takes a connection away from Node's server: the parser is given back, its time limits end, and
 * nothing of the server listens any more. The connection is paused. To be called only when no
 * response is unfinished, because that would be aborted.
 *
 * @returns false, with nothing changed, if this version of Node does it in another way
 */
export function releaseParser(socket: Socket): boolean {
  const found = LISTENERS.map(([event, name]) => ({ event, listener: find(socket, event, name) }));
  const onClose = found.find(({ event }) => event === 'close')?.listener;
  if (onClose === undefined || found.some(({ listener }) => listener === undefined)) return false;
  for (const [event, name] of OPTIONAL_LISTENERS) {
    found.push({ event, listener: find(socket, event, name) });
  }
  for (const { event, listener } of found) {
    if (listener !== undefined) socket.removeListener(event, listener);
  }
  // Node's own way to end HTTP on a connection: it gives the parser back.
  onClose.call(socket);
  socket.pause();
  return true;
}

/**
 * Gives a connection, which `releaseParser` has taken away, back to its server for one request:
 * the connection is closed after the response, and bytes behind the request are not answered.
 *
 * @param bytes with which the request begins; more comes from the connection
 */
export function parseOneRequest(socket: Socket, bytes: Uint8Array): void {
  const { server } = socket as HttpSocket;
  if (server === undefined || takeConnection === undefined) return void socket.destroy();
  // Ends the timeout for connections without requests.
  socket.setTimeout(0);
  socket.unshift(bytes);
  takeConnection.call(server, socket);
  const { parser } = socket as HttpSocket;
  const onIncoming = parser?.onIncoming;
  if (parser === undefined || parser === null || typeof onIncoming !== 'function') {
    return void socket.destroy();
  }
  let requests = 0;
  parser.onIncoming = (req) => (++requests === 1 ? onIncoming(req, false) : 0);
  socket.resume();
}

function find(socket: Socket, event: string, name: string): Listener | undefined {
  return (socket.listeners(event) as Listener[]).find((listener) => listener.name === name);
}
