import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Log } from '@millrace/shared/base/log';
import type { PurgeTarget } from '@millrace/shared/cdn/upkeep/purge-target';
import { formatPurgeLines, type PurgeLine, readPurgeLines } from './purge-file.ts';
import { newPurge, Purges } from './purges.ts';

const A = 'https://a.example/x/file';
const B = 'https://b.example/x/file';
const warnings: string[] = [];
const log = {
  debug() {},
  info() {},
  warn: (_fields: object, text: string) => warnings.push(text),
  error: (_fields: object, text: string) => warnings.push(text),
} as unknown as Log;
const url = (text: string): PurgeTarget => ({ kind: 'url', url: text });

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  warnings.length = 0;
});
afterEach(() => rm(dir, { recursive: true }));

const file = () => join(dir, 'purges.log');

/** Marks of records that are stored now. */
const stored = (purges: Purges) => ({ mark: purges.diskMark(purges.current) });
const isVoid = (purges: Purges, of: string, meta: object) =>
  purges.isVoid(of, 'e.1', purges.readMark(meta));

describe('purges and records on disk', () => {
  test('hold over restarts, for records stored before them and no others', async () => {
    const first = await Purges.open(dir, log);
    const before = stored(first);
    await first.purge(newPurge(url(A), 1), false);
    const after = stored(first);
    for (let restart = 0; restart < 3; restart++) {
      const next = await Purges.open(dir, log);
      expect(isVoid(next, A, before)).toBe(true);
      expect(isVoid(next, A, after)).toBe(false);
      expect(isVoid(next, B, before)).toBe(false);
      expect(isVoid(next, A, {})).toBe(true);
      await next.close();
    }
    expect(warnings).toEqual([]);
    await first.close();
  });

  test('a line that was cut by a crash is left out, and its generation is not reused', async () => {
    const first = await Purges.open(dir, log);
    await first.purge(newPurge(url(A), 1), false);
    await first.purge(newPurge(url(B), 2), false);
    // Stored after the second purge, whose line will be cut.
    const record = stored(first);
    await first.close();
    const { length } = await readFile(file());
    await truncate(file(), length - 5);
    const next = await Purges.open(dir, log);
    expect(warnings).toEqual([]);
    expect(isVoid(next, A, record)).toBe(false);
    // A new purge is later than the record, whatever generation that has.
    await next.purge(newPurge(url(A), 3), false);
    expect(isVoid(next, A, record)).toBe(true);
    await next.close();
  });

  test.each([
    ['a flipped letter', (text: string) => text.replace('a.example', 'c.example')],
    ['another beginning', (text: string) => `x${text}`],
    ['nothing', () => ''],
  ])('%s in the list: everything stored before is void', async (_name, damage) => {
    const first = await Purges.open(dir, log);
    await first.purge(newPurge(url(A), 1), true);
    const record = stored(first);
    await first.close();
    await writeFile(file(), damage(await readFile(file(), 'utf8')));
    const next = await Purges.open(dir, log);
    expect(isVoid(next, B, record)).toBe(true);
    // The list is whole again for the run after that.
    const kept = stored(next);
    await next.close();
    const last = await Purges.open(dir, log);
    expect(isVoid(last, B, kept)).toBe(false);
    await last.close();
  });

  test('a purge that cannot be written costs the next run its cache', async () => {
    const first = await Purges.open(dir, log);
    const record = stored(first);
    await first.close();
    // A file takes the place of the folder for rewrites, so that none succeeds.
    await rm(join(dir, 'tmp'), { recursive: true });
    await writeFile(join(dir, 'tmp'), '');
    await first.purge(newPurge(url(A), 1), false);
    expect(warnings).toEqual(['a purge cannot be written down']);
    expect(isVoid(first, A, record)).toBe(true);
    await rm(join(dir, 'tmp'));
    const next = await Purges.open(dir, log);
    expect(isVoid(next, B, record)).toBe(true);
    await next.close();
  });
});

describe('purges and other nodes', () => {
  test('purges that cover a file are told with requests for it, and carried out once', async () => {
    const here = new Purges();
    const there = new Purges();
    for (const target of [
      { kind: 'prefix', prefix: 'https://a.example/x/' } as const,
      { kind: 'version', url: A, tag: 'e.1' } as const,
      url(B),
    ]) {
      await here.purge(newPurge(target, 1), false);
    }
    const { current } = there;
    there.hear(A, 'e.1', here.told(A, 'e.1'));
    expect(there.isVoid(A, 'e.1', current)).toBe(true);
    expect(there.isVoid('https://a.example/x/other', 'e.1', current)).toBe(true);
    expect(there.isVoid(B, 'e.1', current)).toBe(false);
    const after = there.current;
    there.hear(A, 'e.1', here.told(A, 'e.1'));
    there.hear('https://a.example/x/other', 'e.5', here.told('https://a.example/x/other', 'e.5'));
    expect(there.current).toBe(after);
    expect(here.told('https://c.example/', undefined)).toBeUndefined();
  });

  test.each([
    'nonsense',
    'u=',
    'u=../../x',
    'p9999=abc',
    'p8=abc',
    'v=abc',
    `u=${'x'.repeat(65)}`,
    'U=abc',
  ])('hearing %j does no harm', (told) => {
    const purges = new Purges();
    purges.hear(A, undefined, told);
    expect(purges.current).toBe(0);
  });

  test('only purges of the whole network are in the shared log', async () => {
    const purges = new Purges();
    const { digest } = purges;
    await purges.purge(newPurge(url(A), 1), false);
    expect(purges.digest).toBe(digest);
    await purges.purge(newPurge(url(B), 2), true);
    expect(purges.shared.purges.map(({ at }) => at)).toEqual([2]);
    const other = new Purges();
    expect(await other.learn(purges.shared)).toBe(1);
    expect(other.digest).toBe(purges.digest);
    expect(other.isVoid(B, undefined, 0)).toBe(true);
  });
});

test('a line whose only damage is behind its checksum is damaged', () => {
  const line: PurgeLine = { type: 'era', era: '6f1c2c1e-7a52-4f0e-9a42-0d4d0e1b2c3d', current: 3 };
  const text = formatPurgeLines([line]);
  expect(readPurgeLines(text)).toEqual([line]);
  expect(readPurgeLines(text.replace(' ', '!'))).toBeUndefined();
});

describe('purges of labels', () => {
  const fields = { 'surrogate-key': 'r-1 "odd=%l~', 'cache-tag': 'other' };
  const label = (text: string): PurgeTarget => ({ kind: 'label', label: text });

  test.each(['r-1', '"odd=%l~', 'other'])(
    'of %s are told to other nodes, and held',
    async (text) => {
      const [told, telling] = [new Purges(), new Purges()];
      await telling.purge(newPurge(label('nothing'), 1), false);
      expect(telling.toldOfLabels(fields)).toBeUndefined();
      await telling.purge(newPurge(label(text), 2), false);
      told.hear(A, undefined, telling.toldOfLabels(fields));
      expect(told.isVoidByLabel(fields, 0)).toBe(true);
      expect(told.isVoidByLabel({ 'surrogate-key': 'nothing' }, 0)).toBe(false);
      expect(told.isVoidByLabel(fields, told.current)).toBe(false);
    },
  );

  test('hold over restarts', async () => {
    const first = await Purges.open(dir, log);
    const before = stored(first);
    await first.purge(newPurge(label('r-1'), 1), true);
    await first.close();
    const next = await Purges.open(dir, log);
    expect(next.isVoidByLabel(fields, next.readMark(before))).toBe(true);
    expect(next.isVoidByLabel(fields, next.current)).toBe(false);
    expect(next.shared.purges.map(({ target }) => target)).toEqual([label('r-1')]);
    await next.close();
  });

  test('in a form that no node writes are not heard', () => {
    const purges = new Purges();
    purges.hear(A, undefined, 'lA=id-1 l%zz=id-2 l*=id-3 l=id-4');
    expect(purges.count).toBe(0);
  });
});
