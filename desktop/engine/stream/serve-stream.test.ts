import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { type ServedStream, serveStream } from './serve-stream.ts';
import type { StreamedDownload } from './stream-source.ts';

const MiB = 1024 * 1024;

/** A download whose bytes arrive when the test says so. */
class FakeDownload implements StreamedDownload {
  readonly content: Buffer;
  readonly described: StreamedDownload['described'];
  readonly finished = Promise.withResolvers<{ path: string }>();
  readonly preferred: (number | undefined)[] = [];
  readonly #stored = new RangeSet();
  /** Reads that wait for their bytes. */
  readonly waiting = new Set<{ position: number; go: () => void }>();
  reads = 0;
  generation = 0;
  length: number | undefined;

  constructor(bytes: number, length: number | undefined = bytes, contentType = 'video/mp4') {
    this.content = Buffer.alloc(bytes);
    for (let i = 0; i < bytes; i++) this.content[i] = i * 7 + (i >> 8);
    this.described = Promise.resolve({ path: '/films/film.mp4', length, contentType });
    this.length = length;
    this.finished.promise.catch(() => {});
  }

  arrive(start: number, end: number): void {
    this.#stored.add({ start, end });
    for (const { go } of [...this.waiting]) go();
  }

  progress() {
    return { path: '/films/film.mp4', length: this.length };
  }

  prefer(position: number | undefined): void {
    this.preferred.push(position);
  }

  async read(into: Buffer, position: number, signal: AbortSignal): Promise<number> {
    this.reads++;
    for (;;) {
      signal.throwIfAborted();
      if (position >= this.content.length) return 0;
      const part = this.#stored.ranges.find((r) => r.start <= position && r.end > position);
      if (part !== undefined) {
        const end = Math.min(part.end, position + into.length);
        return this.content.copy(into, 0, position, end);
      }
      await new Promise<void>((resolve) => {
        const wait = { position, go };
        const { waiting } = this;
        function go() {
          waiting.delete(wait);
          signal.removeEventListener('abort', go);
          resolve();
        }
        waiting.add(wait);
        signal.addEventListener('abort', go, { once: true });
      });
    }
  }
}

const streams: ServedStream[] = [];

async function serve(download: FakeDownload): Promise<ServedStream> {
  const stream = await serveStream(download, download.finished.promise);
  streams.push(stream);
  return stream;
}

afterEach(async () => {
  await Promise.all(streams.splice(0).map((stream) => stream.close()));
});

async function open(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<IncomingMessage> {
  const req = request(url, { headers, method, agent: false });
  req.on('error', () => {}); // the response reports it as well
  req.end();
  const [response] = (await once(req, 'response')) as [IncomingMessage];
  return response;
}

/** Returns the body, and whether it is complete. */
async function bodyOf(response: IncomingMessage): Promise<{ body: Buffer; complete: boolean }> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of response) pieces.push(piece as Buffer);
  } catch {
    return { body: Buffer.concat(pieces), complete: false };
  }
  return { body: Buffer.concat(pieces), complete: response.complete };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a download that is served while it runs', () => {
  test('gives available bytes at once, and the rest as they arrive', async () => {
    const download = new FakeDownload(MiB);
    download.arrive(0, 1000);
    const { url } = await serve(download);
    const response = await open(url);
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-length']).toBe(String(MiB));
    await until(() => download.waiting.size === 1);
    expect([...download.waiting][0]?.position).toBe(1000);
    download.arrive(1000, MiB);
    const { body, complete } = await bodyOf(response);
    expect(complete).toBe(true);
    expect(body.equals(download.content)).toBe(true);
  });

  test('gives a range that is requested before any of it has arrived', async () => {
    const download = new FakeDownload(MiB);
    const { url } = await serve(download);
    const response = await open(url, { range: 'bytes=500000-500099' });
    expect(response.statusCode).toBe(206);
    expect(response.headers['content-range']).toBe(`bytes 500000-500099/${MiB}`);
    download.arrive(400_000, 600_000);
    const { body, complete } = await bodyOf(response);
    expect(complete).toBe(true);
    expect(body.equals(download.content.subarray(500_000, 500_100))).toBe(true);
  });

  test('is given to its end if its length is unknown', async () => {
    const download = new FakeDownload(5000, undefined);
    Object.assign(download, {
      described: Promise.resolve({ path: 'x', length: undefined, contentType: undefined }),
    });
    download.arrive(0, 5000);
    const { url } = await serve(download);
    const { body, complete } = await bodyOf(await open(url));
    expect(complete).toBe(true);
    expect(body.equals(download.content)).toBe(true);
  });

  test('answers HEAD without waiting for bytes', async () => {
    const { url } = await serve(new FakeDownload(MiB));
    const response = await open(url, {}, 'HEAD');
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-length']).toBe(String(MiB));
    expect((await bodyOf(response)).body).toHaveLength(0);
  });
});

describe('the part that is fetched first', () => {
  test('follows the latest seek, and then goes back to the earlier reader', async () => {
    const download = new FakeDownload(MiB);
    const { url } = await serve(download);
    const first = await open(url);
    await until(() => download.waiting.size === 1);
    expect(download.preferred.at(-1)).toBe(0);
    const seek = await open(url, { range: 'bytes=900000-' });
    await until(() => download.waiting.size === 2);
    expect(download.preferred.at(-1)).toBe(900_000);
    download.arrive(900_000, MiB);
    expect((await bodyOf(seek)).complete).toBe(true);
    await until(() => download.preferred.at(-1) === 0);
    first.destroy();
    await until(() => download.preferred.at(-1) === undefined);
  });

  test('a player that goes away leaves nothing behind', async () => {
    const download = new FakeDownload(MiB);
    const stream = await serve(download);
    const response = await open(stream.url);
    await until(() => download.waiting.size === 1);
    expect(stream.readers).toBe(1);
    response.destroy();
    await until(() => download.waiting.size === 0 && stream.readers === 0);
  });

  test('reading ahead for a slow player is bounded', async () => {
    const download = new FakeDownload(48 * MiB);
    download.arrive(0, 48 * MiB);
    const { url } = await serve(download);
    const response = await open(url);
    // The buffers of the sockets fill up, and then reading stops.
    let before = -1;
    while (download.reads !== before) {
      before = download.reads;
      for (let i = 0; i < 2000; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(download.reads * 256 * 1024).toBeLessThan(24 * MiB);
    const { body, complete } = await bodyOf(response);
    expect(complete).toBe(true);
    expect(body.equals(download.content)).toBe(true);
  });
});

describe('the end of the download', () => {
  test('a failure cuts off the current answer, and later answers state the reason', async () => {
    const download = new FakeDownload(MiB);
    download.arrive(0, 1000);
    const { url } = await serve(download);
    const response = await open(url);
    await until(() => download.waiting.size === 1);
    download.finished.reject(new MillraceError('origin-gone'));
    const { body, complete } = await bodyOf(response);
    expect(complete).toBe(false);
    expect(body.equals(download.content.subarray(0, body.length))).toBe(true);
    const later = await open(url);
    expect(later.statusCode).toBe(410);
    expect(JSON.parse((await bodyOf(later)).body.toString())).toMatchObject({
      code: 'origin-gone',
    });
  });

  test('a failure visibly cuts off an answer of unknown length', async () => {
    const download = new FakeDownload(MiB);
    Object.assign(download, {
      described: Promise.resolve({ path: 'x', length: undefined, contentType: undefined }),
    });
    download.arrive(0, 1000);
    const { url } = await serve(download);
    const response = await open(url);
    await until(() => download.waiting.size === 1);
    download.finished.reject(new MillraceError('origin-gone'));
    expect((await bodyOf(response)).complete).toBe(false);
  });

  test('a download that fails before its file is known has no stream', async () => {
    const download = new FakeDownload(10);
    Object.assign(download, { described: new Promise(() => {}) });
    download.finished.reject(new MillraceError('origin-not-found'));
    await expect(serve(download)).rejects.toMatchObject({ code: 'origin-not-found' });
  });

  test('a complete file stays available, also to a player in the middle of it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
    const path = join(folder, 'film.mp4');
    const download = new FakeDownload(MiB);
    await writeFile(path, download.content);
    download.arrive(0, 1000);
    const { url } = await serve(download);
    const response = await open(url);
    await until(() => download.waiting.size === 1);
    // Fail like a download that has closed its file.
    download.read = () => Promise.reject(new Error('closed'));
    download.finished.resolve({ path });
    download.arrive(1000, 1001);
    const { body, complete } = await bodyOf(response);
    expect(complete).toBe(true);
    expect(body.equals(download.content)).toBe(true);
    await rm(folder, { recursive: true });
    const later = await bodyOf(await open(url, { range: 'bytes=-10' }));
    expect(later.body.equals(download.content.subarray(-10))).toBe(true);
  });

  test('a replaced file cuts off readers of the old version', async () => {
    const download = new FakeDownload(MiB);
    download.arrive(0, 1000);
    const stream = await serve(download);
    const response = await open(stream.url);
    await until(() => download.waiting.size === 1);
    // All bytes of the new version are available; none of them may follow bytes of the old version.
    Object.assign(download, { generation: 1, length: 500 });
    download.arrive(0, 2000);
    const { body, complete } = await bodyOf(response);
    expect(complete).toBe(false);
    expect(body.length).toBeLessThanOrEqual(1000);
    const ifRange = response.headers.etag as string;
    const again = await open(stream.url, { range: 'bytes=5-', 'if-range': ifRange });
    expect(again.statusCode).toBe(200);
    expect(again.headers['content-length']).toBe('500');
    again.destroy();
  });

  test('closing the stream cuts off its readers', async () => {
    const download = new FakeDownload(MiB);
    const response = await open((await serve(download)).url);
    await until(() => download.waiting.size === 1);
    await streams.pop()?.close();
    expect((await bodyOf(response)).complete).toBe(false);
    expect(download.waiting.size).toBe(0);
  });
});

describe('access', () => {
  test('a path without the secret gets nothing', async () => {
    const { url } = await serve(new FakeDownload(10));
    const { origin } = new URL(url);
    for (const path of ['/', '/film.mp4', '/x/film.mp4', `/${'a'.repeat(32)}/film.mp4`]) {
      const response = await open(origin + path);
      response.resume();
      expect(response.statusCode).toBe(404);
    }
  });

  test.each(['evil.example', 'localhost', '127.0.0.1:1'])(
    'a Host of %s is refused',
    async (host) => {
      const { url } = await serve(new FakeDownload(10));
      const response = await open(url, { host });
      response.resume();
      expect(response.statusCode).toBe(421);
    },
  );

  test('a Host of localhost with the right port is accepted', async () => {
    const download = new FakeDownload(10);
    download.arrive(0, 10);
    const { url } = await serve(download);
    const host = `localhost:${new URL(url).port}`;
    expect((await bodyOf(await open(url, { host }))).body.equals(download.content)).toBe(true);
  });

  test('other methods are refused, and pages of browsers get no permission', async () => {
    const { url } = await serve(new FakeDownload(10));
    const response = await open(url, { origin: 'https://example.com' }, 'OPTIONS');
    response.resume();
    expect(response.statusCode).toBe(405);
    expect(response.headers.allow).toBe('GET, HEAD');
    expect(response.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('readers are limited, and a reader that leaves makes room for another', async () => {
    const download = new FakeDownload(MiB);
    const stream = await serve(download);
    const readers = await Promise.all(Array.from({ length: 16 }, () => open(stream.url)));
    const surplus = await open(stream.url);
    surplus.resume();
    expect(surplus.statusCode).toBe(429);
    readers[0]?.destroy();
    await until(() => stream.readers === 15);
    expect((await open(stream.url)).statusCode).toBe(200);
  });

  test('a malformed request does no harm', async () => {
    const { url } = await serve(new FakeDownload(10));
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.end('\x16\x03\x01nonsense\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    expect((await open(url, {}, 'HEAD')).statusCode).toBe(200);
  });
});
