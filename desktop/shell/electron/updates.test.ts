/**
 * The library that updates the app, against a feed on this machine. It runs in Node with a stand-in
 * for Electron's `app`; what it fetches, compares and keeps is its own code.
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AppImageUpdater as Updater } from 'electron-updater';

const require = createRequire(import.meta.url);
const { AppImageUpdater } = require('electron-updater/out/AppImageUpdater') as {
  AppImageUpdater: new (options: null, app: object) => Updater;
};
const { HttpExecutor, configureRequestOptions, configureRequestUrl } = createRequire(
  require.resolve('electron-updater'),
)('builder-util-runtime') as {
  HttpExecutor: new () => {
    doDownload(request: object, task: object, redirects: number): void;
  };
  configureRequestOptions(request: object): object;
  configureRequestUrl(url: URL, request: object): void;
};

interface Download {
  readonly headers?: object;
  readonly cancellationToken: { createPromise<T>(run: Promised<T>): Promise<T> };
}

type Promised<T> = (
  resolve: (value: T) => void,
  reject: (error: Error) => void,
  onCancel: (callback: () => void) => void,
) => void;

const BLOCK = 64 * 1024;
const BLOCKS = 64;
/** Blocks that the new version has changed. */
const CHANGED = [3, 40];
const NAME = 'millrace-1.0.1-linux-x64.AppImage';

/** Fetches with Node's HTTP in place of Chromium's. */
class NodeExecutor extends HttpExecutor {
  createRequest(options: object, callback: () => void) {
    return request(options, callback);
  }

  download(url: URL, destination: string, options: Download): Promise<string> {
    return options.cancellationToken.createPromise((resolve, reject, onCancel) => {
      const wanted = configureRequestOptions({ headers: options.headers });
      configureRequestUrl(url, wanted);
      const callback = (error: Error | null) =>
        error === null || error === undefined ? resolve(destination) : reject(error);
      this.doDownload(
        wanted,
        { destination, options, onCancel, callback, responseHandler: null },
        0,
      );
    });
  }
}

/** Appends the map of its blocks to an image, as electron-builder does. */
function withBlockMap(image: Buffer): { file: Buffer; mapBytes: number } {
  const blocks = Array.from({ length: image.length / BLOCK }, (_, i) =>
    image.subarray(i * BLOCK, (i + 1) * BLOCK),
  );
  const checksums = blocks.map((block) =>
    createHash('sha256').update(block).digest('base64').slice(0, 24),
  );
  const files = [{ name: 'file', offset: 0, checksums, sizes: blocks.map((b) => b.length) }];
  const map = deflateRawSync(JSON.stringify({ version: '2', files }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(map.length);
  return { file: Buffer.concat([image, map, length]), mapBytes: map.length };
}

let folder: string;
let server: Server;
let installed: string;
let next: Buffer;
/** Files of the feed by path. */
const feed = new Map<string, Buffer>();
/** Bytes that were sent of the image. */
let sent: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-updates-'));
  const image = randomBytes(BLOCK * BLOCKS);
  installed = join(folder, 'millrace.AppImage');
  writeFileSync(installed, withBlockMap(image).file);
  for (const block of CHANGED) randomBytes(BLOCK).copy(image, block * BLOCK);
  const made = withBlockMap(image);
  next = made.file;
  const sha512 = createHash('sha512').update(next).digest('base64');
  const info = { url: NAME, sha512, size: next.length, blockMapSize: made.mapBytes };
  feed.set(
    '/latest-linux.yml',
    Buffer.from(
      JSON.stringify({
        version: '1.0.1',
        files: [info],
        path: NAME,
        sha512,
        releaseDate: '2026-01-02T00:00:00Z',
      }),
    ),
  );
  feed.set(`/${NAME}`, next);
  sent = 0;
  server = createServer((incoming, answer) => {
    const path = new URL(incoming.url ?? '', 'http://feed').pathname;
    const body = feed.get(path);
    if (body === undefined) return answer.writeHead(404).end();
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(incoming.headers.range ?? '') ?? [];
    const part = from === undefined ? body : body.subarray(Number(from), Number(to) + 1);
    if (path === `/${NAME}`) sent += part.length;
    answer.writeHead(from === undefined ? 200 : 206, {
      'content-length': part.length,
      ...(from === undefined ? {} : { 'content-range': `bytes ${from}-${to}/${body.length}` }),
    });
    answer.end(part);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env.APPIMAGE = installed;
});

afterEach(async () => {
  delete process.env.APPIMAGE;
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

/** Makes the updater of an app of version 1.0.0. */
function updater(): Updater {
  const config = join(folder, 'app-update.yml');
  writeFileSync(config, 'provider: generic\nupdaterCacheDirName: millrace-updater\n');
  const app = {
    version: '1.0.0',
    name: 'millrace',
    isPackaged: true,
    appUpdateConfigPath: config,
    userDataPath: join(folder, 'data'),
    baseCachePath: join(folder, 'cache'),
    whenReady: async () => {},
    quit: () => {},
    relaunch: () => {},
    onQuit: () => {},
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made = new AppImageUpdater(null, app);
  Object.assign(made, { httpExecutor: new NodeExecutor(), logger: null, autoDownload: false });
  made.on('error', () => {});
  // One range in each request, as servers of static files can answer.
  made.setFeedURL({ provider: 'generic', url, useMultipleRangeRequest: false });
  return made;
}

test('an update fetches the blocks that differ, and has the digest of the feed', async () => {
  const found = await updater().checkForUpdates();
  expect(found?.updateInfo.version).toBe('1.0.1');
  const app = updater();
  await app.checkForUpdates();
  const [path = ''] = await app.downloadUpdate();
  expect(readFileSync(path).equals(next)).toBe(true);
  expect(sent).toBeGreaterThanOrEqual(CHANGED.length * BLOCK);
  expect(sent).toBeLessThan(next.length / 4);
});

test('an image that differs from the digest of the feed is refused', async () => {
  const wrong = Buffer.from(next);
  wrong.fill(0, (CHANGED[0] as number) * BLOCK, (CHANGED[0] as number) * BLOCK + 16);
  feed.set(`/${NAME}`, wrong);
  const app = updater();
  await app.checkForUpdates();
  await expect(app.downloadUpdate()).rejects.toThrow(/checksum mismatch/);
});
