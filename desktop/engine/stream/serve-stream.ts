/**
 * Serves a running download to media players on this machine, from a separate server on loopback
 * with an unguessable path. A read waits for missing bytes, which are fetched first.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { Playback } from '@millrace/shared/download/scheduler/playback';
import { PROBLEM_TYPE, toProblem } from '@millrace/shared/http/answers/problem';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import { type StreamedFile, type StreamHead, streamHead } from './stream-head.ts';
import { type StreamedDownload, StreamSource } from './stream-source.ts';

/** A stream that is being served. */
export interface ServedStream {
  /** Address to open: http://127.0.0.1:PORT/SECRET/NAME. */
  readonly url: string;
  /** Requests that are being answered; one player may have several. */
  readonly readers: number;
  /** Ends the stream and cuts off its readers. */
  close(): Promise<void>;
}

const MAX_READERS = 16;
const MAX_CONNECTIONS = 64;
const BUFFER_BYTES = 256 * 1024;

/**
 * Serves a download until the stream is closed: while it runs, and its file once it is complete.
 *
 * @param finished the run of the download. If it rejects, readers are cut off, because a short
 *   answer must not look complete
 * @throws MillraceError if the download fails before its file is known
 */
export async function serveStream(
  download: StreamedDownload,
  finished: Promise<{ readonly path: string }>,
): Promise<ServedStream> {
  const failed = finished.then(() => new Promise<never>(() => {}));
  const description = await Promise.race([download.described, failed]);
  const stream = new StreamServer(download, finished, description);
  await stream.listen();
  return stream;
}

class StreamServer implements ServedStream {
  readonly #download: StreamedDownload;
  readonly #source: StreamSource;
  readonly #server: Server;
  readonly #secret = randomBytes(24).toString('base64url');
  readonly #playback = new Playback();
  /** Controllers that end the readers, by response. */
  readonly #readers = new Map<ServerResponse, AbortController>();
  #file: StreamedFile;
  #generation: number | undefined;
  #preferred: number | undefined;
  #error: MillraceError | undefined;

  constructor(
    download: StreamedDownload,
    finished: Promise<{ readonly path: string }>,
    description: Awaited<StreamedDownload['described']>,
  ) {
    this.#download = download;
    this.#source = new StreamSource(download, finished);
    this.#generation = download.generation;
    this.#file = this.#describe(description);
    this.#server = process.getBuiltinModule('node:http').createServer({ maxHeaderSize: 16 * 1024 });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('request', (req, res) => this.#handle(req, res));
    finished.catch((error: unknown) => {
      this.#error = asMillraceError(error);
      this.#cutOff();
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://${this.#host}/${this.#secret}/${encodeURIComponent(this.#file.name)}`;
  }

  get readers(): number {
    return this.#readers.size;
  }

  async close(): Promise<void> {
    this.#cutOff();
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
    await this.#source.close();
  }

  get #host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #describe({ path, length, contentType }: Awaited<StreamedDownload['described']>): StreamedFile {
    const etag = `"${this.#secret.slice(0, 8)}-${this.#generation ?? 0}"`;
    return { name: basename(path), length, contentType, etag };
  }

  #handle(req: IncomingMessage, res: ServerResponse): void {
    res.on('error', () => {}); // the player is gone; 'close' reports that as well
    try {
      this.#admit(req);
      const head = streamHead(req.method ?? '', req.headers, this.#file);
      if (head.body === undefined) return void res.writeHead(head.status, head.headers).end();
      if (this.#readers.size >= MAX_READERS) throw new MillraceError('too-many-transfers');
      void this.#send(res, head, head.body);
    } catch (error) {
      refuse(res, asMillraceError(error));
    }
  }

  /** @throws MillraceError unless the request names this server and has the secret */
  #admit(req: IncomingMessage): void {
    // Refuse a host name that was made to point at loopback (DNS rebinding).
    const port = this.#host.split(':')[1];
    const host = req.headers.host?.toLowerCase();
    if (host !== this.#host && host !== `localhost:${port}`) throw new MillraceError('not-a-proxy');
    const given = Buffer.from(/^\/([^/?]*)/.exec(req.url ?? '')?.[1] ?? '');
    const secret = Buffer.from(this.#secret);
    if (given.length !== secret.length || !timingSafeEqual(given, secret)) {
      throw new MillraceError('no-such-page');
    }
    if (this.#error !== undefined) throw this.#error;
    this.#follow();
  }

  /** Describes the file again if it has changed at the source. */
  #follow(): void {
    const { generation } = this.#download;
    if (generation === this.#generation) return;
    this.#generation = generation;
    const { path = this.#file.name, length } = this.#download.progress?.() ?? {};
    this.#file = this.#describe({ path, length, contentType: this.#file.contentType });
    // Readers have bytes of the old version, which bytes of the new one must not follow.
    this.#cutOff();
  }

  async #send(
    res: ServerResponse,
    head: StreamHead,
    { start, end }: NonNullable<StreamHead['body']>,
  ): Promise<void> {
    const ended = new AbortController();
    res.once('close', () => ended.abort());
    this.#readers.set(res, ended);
    this.#playback.opened(res, start, performance.now());
    try {
      // Send the header at once, so that the player can show that it is waiting.
      res.writeHead(head.status, head.headers).flushHeaders();
      const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
      for (let position = start; end === undefined || position < end; ) {
        const room = buffer.subarray(0, Math.min(BUFFER_BYTES, (end ?? Infinity) - position));
        const count = await this.#read(res, room, position, ended.signal);
        if (count === 0 && end === undefined) break;
        if (count === 0) throw new MillraceError('wrong-length', `the file ends at ${position}`);
        position += count;
        // Write before the next read, so that a slow player delays only its own reader.
        await write(res, room.subarray(0, count), ended.signal);
      }
      res.end();
    } catch {
      // Reset the connection, so that the body does not seem complete.
      resetConnection(res.socket);
      res.destroy();
    } finally {
      this.#readers.delete(res);
      this.#playback.closed(res);
      this.#prefer();
    }
  }

  async #read(
    res: ServerResponse,
    into: Buffer,
    position: number,
    signal: AbortSignal,
  ): Promise<number> {
    this.#playback.waits(res, performance.now());
    this.#prefer();
    const count = await this.#source.read(into, position, signal);
    this.#playback.advanced(res, position + count);
    this.#follow();
    signal.throwIfAborted();
    return count;
  }

  #prefer(): void {
    const position = this.#playback.preferred();
    if (position === this.#preferred) return;
    this.#preferred = position;
    this.#download.prefer(position);
  }

  #cutOff(): void {
    for (const [res, ended] of this.#readers) {
      resetConnection(res.socket);
      ended.abort();
    }
  }
}

function write(res: ServerResponse, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    res.write(bytes, (error) => {
      signal.removeEventListener('abort', onAbort);
      if (error == null) resolve();
      else reject(error);
    });
  });
}

function refuse(res: ServerResponse, error: MillraceError): void {
  const headers: Record<string, string> = {
    'content-type': PROBLEM_TYPE,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (error.code === 'method-not-allowed') headers.allow = 'GET, HEAD';
  res.writeHead(error.row.status, headers).end(`${JSON.stringify(toProblem(error), null, 2)}\n`);
}
