import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import type { PieceDigests } from '@millrace/shared/base/digest';
import { type DownloadRequest, REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { Download, type DownloadEvent } from './download.ts';

const random = seededRandom(4);
const PIECE = 64 * 1024;
const SIZE = 64 * PIECE + 1000;
const HALF = SIZE / 2;
/** Longer ranges are more than a comparison of samples. */
const SAMPLE = 16 * 1024;
const content = Buffer.from(Uint8Array.from({ length: SIZE }, () => Math.floor(random() * 256)));
const hexOf = (bytes: Buffer) => createHash('sha1').update(bytes).digest('hex');
const pieces: PieceDigests = {
  ...{ algorithm: 'sha1', pieceBytes: PIECE },
  hexes: Array.from({ length: 65 }, (_, i) => hexOf(content.subarray(i * PIECE, (i + 1) * PIECE))),
};

/** A server of the file. */
interface Host {
  readonly server: Server;
  readonly url: string;
  /** Number of bytes that it has sent. */
  sent: number;
}

let folder: string;
let hosts: Host[];
let events: DownloadEvent[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  [hosts, events] = [[], []];
});
afterEach(async () => {
  for (const { server } of hosts) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await rm(folder, { recursive: true, force: true });
});

/**
 * Starts a server.
 *
 * @param bytesAt gives the bytes of one answer
 * @param rest what comes of long ranges behind the first half of the file waits for this
 */
async function serve(
  bytesAt: (start: number, end: number) => Buffer,
  rest: Promise<unknown> = Promise.resolve(),
): Promise<Host> {
  const server = createServer(async (request, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const [start, end] = [Number(from), Math.min(SIZE, Number(to || 1e9) + 1)];
    response.writeHead(206, {
      etag: '"1"',
      'content-length': end - start,
      'content-range': `bytes ${start}-${end - 1}/${SIZE}`,
    });
    const bytes = bytesAt(start, end);
    const now =
      end - start > SAMPLE ? Math.max(0, Math.min(bytes.length, HALF - start)) : bytes.length;
    host.sent += now;
    response.write(bytes.subarray(0, now));
    await rest;
    host.sent += bytes.length - now;
    response.end(bytes.subarray(now));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = { server, url: `http://127.0.0.1:${port}/f.bin`, sent: 0 };
  hosts.push(host);
  return host;
}

const right = (start: number, end: number) => content.subarray(start, end);

/** Changes a byte of each piece. */
function wrong(start: number, end: number): Buffer {
  const bytes = Buffer.from(right(start, end));
  for (let at = 30_000; at < SIZE; at += PIECE) {
    if (at >= start && at < end) bytes[at - start] = (bytes[at - start] as number) ^ 1;
  }
  return bytes;
}

async function fetched(
  urls: readonly string[],
  onEvent: (event: DownloadEvent) => void = () => {},
  more: Partial<DownloadRequest> = {},
): Promise<Buffer> {
  const request: DownloadRequest = {
    ...{ ...REQUEST_DEFAULTS, urls, pieces, dir: folder, file: 'f.bin', retryForMs: 5000 },
    ...more,
  };
  const download = new Download(request, {
    signal: new AbortController().signal,
    onEvent: (event) => {
      events.push(event);
      onEvent(event);
    },
    random,
  });
  return readFile((await download.run()).path);
}

const notes = () => events.flatMap((event) => (event.kind === 'note' ? event.note : []));

test('a source of wrong pieces is left while the second half of the file has not come', async () => {
  const left = Promise.withResolvers<void>();
  const liar = await serve(wrong, left.promise);
  const good = await serve(right, left.promise);
  const body = await fetched([liar.url, good.url], (event) => {
    const isLeft = event.kind === 'note' && event.note === 'source-left-out';
    if (isLeft && event.values?.source === new URL(liar.url).host) left.resolve();
  });
  expect(body.equals(content)).toBe(true);
  expect(notes()).toContain('pieces-again');
});

test('a piece that was damaged once on its way is fetched again, even of the only source', async () => {
  const damaged = new Set<number>();
  const once = (start: number, end: number) => {
    const bytes = Buffer.from(right(start, end));
    for (const piece of [3, 20, 21, 50]) {
      const at = piece * PIECE + 5;
      if (at < start || at >= end || damaged.has(piece)) continue;
      damaged.add(piece);
      bytes[at - start] = (bytes[at - start] as number) ^ 1;
    }
    return bytes;
  };
  const only = await serve(once);
  expect((await fetched([only.url])).equals(content)).toBe(true);
  expect(damaged.size).toBe(4);
  expect(notes()).not.toContain('source-left-out');
});

test('a file that is wrong at its only source ends with the error of its digests', async () => {
  const only = await serve(wrong);
  await expect(fetched([only.url], undefined, { retryForMs: 0 })).rejects.toMatchObject({
    code: 'wrong-digest',
  });
});

test('pieces that do not cover the file are checked too, and the rest is not', async () => {
  const from = 1000;
  const hexes = Array.from({ length: 64 }, (_, i) =>
    hexOf(content.subarray(from + i * PIECE, from + (i + 1) * PIECE)),
  ).slice(0, 63);
  let isFirst = true;
  const host = await serve((start, end) => {
    const bytes = Buffer.from(right(start, end));
    const at = from + 40 * PIECE;
    if (at >= start && at < end && isFirst) {
      isFirst = false;
      bytes[at - start] = (bytes[at - start] as number) ^ 1;
    }
    return bytes;
  });
  const some = { algorithm: 'sha1', pieceBytes: PIECE, hexes, from } as const;
  expect((await fetched([host.url], undefined, { pieces: some })).equals(content)).toBe(true);
  expect([isFirst, ...notes().filter((note) => note !== 'cannot-resume')]).toEqual([
    ...[false, 'pieces-again', 'not-all-checked'],
  ]);
});
