import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  DaemonStreams,
  type StreamableDownloads,
  type StreamableRecord,
} from './daemon-streams.ts';
import type { StreamedDownload } from './stream-source.ts';

const BYTES = Buffer.from('0123456789');

/** Downloads of a daemon, as far as streaming sees them. */
class Downloads implements StreamableDownloads {
  readonly records = new Map<string, StreamableRecord>();
  readonly runs = new Map<string, StreamedDownload>();
  readonly #listeners = new Set<(event: { kind: string }) => void>();

  get(gid: string): StreamableRecord {
    const found = this.records.get(gid);
    if (found === undefined) throw new MillraceError('no-such-download', gid);
    return found;
  }

  running(gid: string) {
    return this.runs.get(gid);
  }

  listen(listener: (event: { kind: string }) => void) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  get listeners() {
    return this.#listeners.size;
  }

  /** A download that runs and of which all is there but its end. */
  run(gid: string): void {
    this.records.set(gid, { gid, state: 'active', path: undefined, length: undefined });
    this.runs.set(gid, {
      described: Promise.resolve({ path: '/x/a.mp4', length: 10, contentType: undefined }),
      async read(into, position, signal) {
        if (position < 5) return BYTES.copy(into, 0, position, 5);
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        throw signal.reason;
      },
      prefer() {},
    });
  }

  end(gid: string, state: string, path?: string): void {
    this.runs.delete(gid);
    this.records.set(gid, { gid, state, path, length: 10 });
    for (const listener of [...this.#listeners]) listener({ kind: 'changed' });
  }
}

let folder: string;
let downloads: Downloads;
let streams: DaemonStreams;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  downloads = new Downloads();
  streams = new DaemonStreams(downloads);
});
afterEach(async () => {
  await streams.close();
  await rm(folder, { recursive: true });
});

async function completeFile(): Promise<string> {
  const path = join(folder, 'a.mp4');
  await writeFile(path, BYTES);
  return path;
}

test('one address per download, however often it is asked for', async () => {
  downloads.run('a');
  downloads.run('b');
  const [first, again, other] = await Promise.all([
    streams.open('a'),
    streams.open('a'),
    streams.open('b'),
  ]);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test('the address goes on when the download is complete, and nobody listens any more', async () => {
  downloads.run('a');
  const url = await streams.open('a');
  const body = await fetch(url, { headers: { range: 'bytes=0-4' } });
  expect(await body.text()).toBe('01234');
  downloads.end('a', 'complete', await completeFile());
  expect(downloads.listeners).toBe(0);
  expect(await (await fetch(url)).text()).toBe('0123456789');
  expect(await streams.open('a')).toBe(url);
});

test('a download that is complete already is served as well', async () => {
  const path = await completeFile();
  downloads.records.set('a', { gid: 'a', state: 'complete', path, length: 10 });
  const url = await streams.open('a');
  expect(await (await fetch(url, { headers: { range: 'bytes=-3' } })).text()).toBe('789');
});

test('paused, it breaks off; resumed, it has another address', async () => {
  downloads.run('a');
  const url = await streams.open('a');
  const body = (await fetch(url)).text();
  downloads.end('a', 'paused');
  await expect(body).rejects.toThrow();
  await expect(streams.open('a')).rejects.toMatchObject({ code: 'wrong-state' });
  downloads.run('a');
  expect(await streams.open('a')).not.toBe(url);
});

test('what is not there cannot be played', async () => {
  await expect(streams.open('a')).rejects.toMatchObject({ code: 'no-such-download' });
  downloads.records.set('a', { gid: 'a', state: 'queued', path: undefined, length: undefined });
  await expect(streams.open('a')).rejects.toMatchObject({ code: 'wrong-state' });
  // Once it runs it can.
  downloads.run('a');
  await expect(streams.open('a')).resolves.toMatch(/^http:/);
});
