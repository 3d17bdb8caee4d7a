import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Log } from '@millrace/shared/base/log';
import { chunkKey } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import { proofOf } from '../policy/proofs.ts';
import { recordPath } from './disk-record.ts';
import { Pins } from './pins.ts';
import { diskKey } from './pointer-cache.ts';

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

const open = () => openAt(dir);

async function openAt(where: string): Promise<Pins> {
  await mkdir(where, { recursive: true });
  const pins = await Pins.open({
    dir: where,
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

test('the list outlives a restart without the capability; pins that have ended are left out', async () => {
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

test('a damaged list pins nothing, and is logged', async () => {
  await writeFile(join(dir, 'pins.json'), '{"format":1,"pins":[{}]}');
  expect((await open()).ledger.count).toBe(0);
  expect(warnings).toHaveLength(1);
});

test('a returning node learns which pins were made, extended, cut short and released', async () => {
  const [away, there] = [await open(), await openAt(join(dir, 'there'))];
  for (const id of ['cut', 'gone', 'longer']) {
    const at = away.stamp(id);
    for (const pins of [away, there]) await pins.allocate(request(id), 5000, at);
  }
  expect(away.digest).toBe(there.digest);
  await away.close();
  now += 10;
  await there.allocate(request('new'), 1000, there.stamp('new'));
  await there.allocate(request('local'), 1000);
  await there.extend('longer', 9000, there.stamp('longer'));
  await there.extend('cut', 1, there.stamp('cut'));
  await there.release('gone', there.stamp('gone'));
  there.follow(version('e.2'));
  now += 10;
  const back = await open();
  expect(await back.learn(there.shared.pins)).toBe(4);
  expect(back.digest).toBe(there.digest);
  const ends = ({ ledger }: Pins) => ledger.pins.map(({ id, expiresAt }) => [id, expiresAt]).sort();
  expect(ends(back)).toEqual(ends(there).filter(([id]) => id !== 'local' && id !== 'cut'));
  // It holds the version that has become current while it was away.
  expect(pinned(back, version('e.2'))).toEqual([true, true, true]);
  // Others do not restore a pin that the returning node still had.
  await there.learn(away.shared.pins);
  expect(ends(back)).toEqual(ends(there).filter(([id]) => id !== 'local' && id !== 'cut'));
});

test('a pin of the network is held as soon as there is room, and no sooner', async () => {
  const [full, there] = [await open(), await openAt(join(dir, 'there'))];
  await full.allocate({ ...request('own'), bytes: 950_000 }, 1000);
  await there.allocate(request('a'), 3_600_000, there.stamp('a'));
  await full.learn(there.shared.pins);
  expect(full.ledger.get('a')).toBeUndefined();
  expect(full.all.map(({ id }) => id)).toEqual(['own', 'a']);
  expect(full.holds('a', 'capability')).toBe(true);
  expect(warnings).toHaveLength(1);
  await full.learn(there.shared.pins);
  expect(warnings).toHaveLength(1);
  // The longest lease also holds for a pin that is not held here.
  await expect(full.extend('a', 3_600_001, full.stamp('a'))).rejects.toMatchObject({
    code: 'pin-refused',
  });
  await full.release('own');
  expect(full.ledger.get('a')?.expiresAt).toBe(there.ledger.get('a')?.expiresAt);
});

test('pins of the network outlive a restart, so that their end is learnt as well', async () => {
  const [first, there] = [await open(), await openAt(join(dir, 'there'))];
  const at = first.stamp('a');
  for (const pins of [first, there]) await pins.allocate(request('a'), 5000, at);
  await first.close();
  await there.release('a', there.stamp('a'));
  const next = await open();
  expect(next.isOfNetwork('a')).toBe(true);
  await next.learn(there.shared.pins);
  expect(next.ledger.count).toBe(0);
});

test('a repeated command does not restore a pin that was released elsewhere', async () => {
  const [first, there] = [await open(), await openAt(join(dir, 'there'))];
  const at = first.stamp('a');
  for (const pins of [first, there]) await pins.allocate(request('a'), 5000, at);
  await there.release('a', there.stamp('a'));
  await first.learn(there.shared.pins);
  await first.close();
  const again = await open();
  await expect(again.allocate(request('a'), 5000, at)).rejects.toMatchObject({
    code: 'no-such-entry',
  });
  expect(again.ledger.count).toBe(0);
});
