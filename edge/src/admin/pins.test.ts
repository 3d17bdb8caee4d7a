import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Log } from '@millrace/shared/base/log';
import { chunkKey } from '../cache/chunk-store.ts';
import { recordPath } from '../cache/disk-record.ts';
import type { FileVersion } from '../cache/file-version.ts';
import { diskKey } from '../cache/pointer-cache.ts';
import { Pins, proofOf } from './pins.ts';

const URL_A = 'https://a.example/file';
const warnings: string[] = [];
const log = { warn: (_: object, text: string) => warnings.push(text) } as unknown as Log;

let dir: string;
let now = 1_000_000;
const opened: Pins[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  warnings.length = 0;
});
afterEach(async () => {
  for (const pins of opened.splice(0)) await pins.close();
  await rm(dir, { recursive: true });
});

async function open(): Promise<Pins> {
  const pins = await Pins.open({
    dir,
    chunkBytes: 65_536,
    quotaBytes: 1_000_000,
    maxLeaseMs: 3_600_000,
    share: 1,
    log,
    wallClock: () => now,
  });
  opened.push(pins);
  return pins;
}

const version = (tag: string, length = 100_000): FileVersion => ({
  url: URL_A,
  scope: 'public',
  tag,
  length,
  validators: {},
  fields: {},
});

const request = (id: string) => {
  const { url, tag, length } = version('e.1');
  return { id, url, tag, length, bytes: length, proof: proofOf('capability') };
};

/** Records that a version has on disk: its pointer and its chunks. */
const paths = (of: FileVersion) => [
  recordPath(diskKey('public', of.url)),
  recordPath(chunkKey({ version: of, range: { start: 0, end: 65_536 } })),
  recordPath(chunkKey({ version: of, range: { start: 65_536, end: of.length } })),
];

const pinned = (pins: Pins, of: FileVersion) => paths(of).map((path) => pins.isPinnedPath(path));

test('pointer and chunks of the pinned version are pinned, while any pin lasts', async () => {
  const pins = await open();
  await pins.allocate(request('a'), 1000);
  await pins.allocate(request('b'), 1000);
  expect(pinned(pins, version('e.1'))).toEqual([true, true, true]);
  expect(pinned(pins, version('e.2'))).toEqual([true, false, false]);
  expect(pins.isPinned({ ...version('e.1'), scope: 'private' })).toBe(false);
  await pins.release('a');
  expect(pinned(pins, version('e.1'))).toEqual([true, true, true]);
  await pins.release('b');
  expect(pinned(pins, version('e.1'))).toEqual([false, false, false]);
});

test('a pin follows its file to a new version that fits', async () => {
  const pins = await open();
  let released = 0;
  pins.onReleased = () => released++;
  await pins.allocate(request('a'), 1000);
  pins.follow(version('e.2', 200_000));
  expect(pinned(pins, version('e.1'))).toEqual([true, true, true]);
  pins.follow(version('e.2'));
  expect(pinned(pins, version('e.1'))).toEqual([true, false, false]);
  expect(pinned(pins, version('e.2'))).toEqual([true, true, true]);
  expect(released).toBe(1);
});

test('the list outlives a restart without the capability; what has ended meanwhile is left out', async () => {
  const first = await open();
  await first.allocate(request('a'), 1000);
  await first.allocate(request('b'), 5000);
  expect(await readFile(join(dir, 'pins.json'), 'utf8')).not.toContain('capability');
  now += 2000;
  const next = await open();
  expect(next.ledger.pins.map(({ id }) => id)).toEqual(['b']);
  expect(next.holds('b', 'capability')).toBe(true);
  expect(next.holds('b', 'capability2')).toBe(false);
  expect(next.holds('a', 'capability')).toBe(false);
  expect(pinned(next, version('e.1'))).toEqual([true, true, true]);
});

test('a damaged list pins nothing, and says so', async () => {
  await writeFile(join(dir, 'pins.json'), '{"format":1,"pins":[{}]}');
  expect((await open()).ledger.count).toBe(0);
  expect(warnings).toHaveLength(1);
});
