/**
 * Request targets with bytes above ASCII. curl and others send the names of files as they are
 * typed; Node's parser refuses such a request as a whole. Here it is percent-encoded, byte by
 * byte, and parsed again, as if the client had done so.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { resetConnection } from '../clients/connection.ts';

interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  /** Where in the packet the parser has stopped. */
  readonly bytesParsed?: number;
}

const REQUEST_LINE = /^(?:GET|HEAD) \/[\x21-\x7e\x80-\xff]* HTTP\/1\.[01]$/;
/** What requests that cannot be parsed get, by the parser's or server's code. */
const STATUSES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Content Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * Makes a server take such requests; all others that cannot be parsed are refused.
 *
 * @param connected the event by which the server takes a connection
 */
export function acceptRawTargets(
  server: Server,
  connected: 'connection' | 'secureConnection' = 'connection',
): void {
  server.on('clientError', (error: ParserError, socket: Socket) => {
    const encoded = error.code === 'HPE_INVALID_URL' ? encodeTarget(error) : undefined;
    if (encoded !== undefined && !socket.destroyed) {
      server.emit(connected, new Reparsed(socket, encoded));
    } else if (socket.writable && socket.bytesWritten === 0) {
      const status = STATUSES[error.code ?? ''] ?? '400 Bad Request';
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    } else {
      socket.destroy();
    }
  });
}

/** The bytes with the target of the first request encoded; undefined if that is not the fault. */
function encodeTarget({ rawPacket: packet, bytesParsed = 0 }: ParserError): Buffer | undefined {
  if (packet === undefined) return undefined;
  const end = packet.indexOf('\r\n');
  // Only where the first line is the fault is it a request: else it may be of another one's body.
  if (bytesParsed > end) return undefined;
  const line = packet.toString('latin1', 0, Math.max(0, end));
  if (!REQUEST_LINE.test(line) || !/[\x80-\xff]/.test(line)) return undefined;
  const encoded = line.replace(
    /[\x80-\xff]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return Buffer.concat([Buffer.from(encoded, 'latin1'), packet.subarray(end)]);
}

/** The client's connection once more, from the request that could not be parsed on. */
class Reparsed extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket, first: Buffer) {
    super();
    this.#socket = socket;
    // The first parser has given up: nothing may reach it any more.
    for (const event of ['data', 'end', 'close', 'error', 'timeout', 'drain']) {
      socket.removeAllListeners(event);
    }
    this.push(first);
    socket.on('data', (data) => {
      if (!this.push(data)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.on('timeout', () => this.emit('timeout'));
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms);
    return this;
  }

  resetAndDestroy(): this {
    resetConnection(this.#socket);
    return this.destroy();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
