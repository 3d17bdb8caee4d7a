import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { type Pointer, scopedKey } from '../files/file-version.ts';
import type { OriginAnswer } from '../files/origin-answer.ts';
import { DiskCache } from './disk-cache.ts';
import { isPointer, PointerCache } from './pointer-cache.ts';
import { newPurge, Purges } from './purges.ts';

const URL_A = 'https://example.com/a';
const VERDICT = { reason: 'no-ranges', until: 1000 };

function pointer(tag: string): Pointer {
  return {
    version: {
      url: URL_A,
      scope: 'public',
      length: 10,
      validators: { etag: `"${tag}"` },
      tag: `e.${tag}`,
      fields: { 'content-type': 'text/plain' },
    },
    freshness: {
      notStorable: undefined,
      initialAgeMs: 0,
      arrivedAt: 1000,
      lifetimeMs: 60_000,
      staleIfErrorMs: 0,
    },
    finalUrl: URL_A,
  };
}

let dir = '';
let disk: DiskCache;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
  disk = await DiskCache.open({ dir, maxBytes: 2 ** 20, log: silentLog });
});
afterEach(async () => {
  await disk.flush();
  await rm(dir, { recursive: true });
});

/** Returns the pointers as the node's next run has them. */
async function afterRestart(): Promise<PointerCache> {
  await disk.flush();
  return new PointerCache(await DiskCache.open({ dir, maxBytes: 2 ** 20, log: silentLog }));
}

describe('PointerCache', () => {
  test('keeps entries for as long as the node runs', async () => {
    const cache = new PointerCache();
    expect(cache.get(URL_A, 'public')).toBeUndefined();
    cache.put(URL_A, 'public', pointer('a'));
    expect(cache.get(URL_A, 'public')).toEqual(pointer('a'));
    expect(await cache.load(URL_A, 'public')).toEqual(pointer('a'));
    expect(cache.count).toBe(1);
    cache.put(URL_A, 'public', VERDICT);
    expect(cache.get(URL_A, 'public')).toEqual(VERDICT);
    expect(cache.count).toBe(1);
  });

  test('with a disk it knows which version is current after a restart', async () => {
    new PointerCache(disk).put(URL_A, 'public', pointer('a'));
    const cache = await afterRestart();
    expect(cache.get(URL_A, 'public')).toBeUndefined();
    // Undefined members do not survive JSON, and mean the same.
    expect(await cache.load(URL_A, 'public')).toEqual(pointer('a'));
    expect(cache.get(URL_A, 'public')).toEqual(pointer('a'));
  });

  test('the verdict that a file can only be tunnelled does not survive a restart', async () => {
    const cache = new PointerCache(disk);
    cache.put(URL_A, 'public', pointer('a'));
    await disk.flush();
    cache.put(URL_A, 'public', VERDICT);
    expect(await (await afterRestart()).load(URL_A, 'public')).toBeUndefined();
  });

  test('a pointer that is stored while the disk is read replaces the one on disk', async () => {
    new PointerCache(disk).put(URL_A, 'public', pointer('old'));
    const cache = await afterRestart();
    const loading = cache.load(URL_A, 'public');
    cache.put(URL_A, 'public', pointer('new'));
    expect(await loading).toEqual(pointer('new'));
    expect(cache.get(URL_A, 'public')).toEqual(pointer('new'));
  });

  test('a pointer that is dropped is gone from the disk as well', async () => {
    const cache = new PointerCache(disk);
    cache.put(URL_A, 'public', pointer('a'));
    await disk.flush();
    cache.drop(URL_A, 'public');
    expect(cache.get(URL_A, 'public')).toBeUndefined();
    expect(await cache.load(URL_A, 'public')).toBeUndefined();
    expect(await (await afterRestart()).load(URL_A, 'public')).toBeUndefined();
  });

  test('dropping a version that is no longer current keeps the current one', () => {
    const cache = new PointerCache();
    cache.put(URL_A, 'public', pointer('new'));
    cache.drop(URL_A, 'public', 'e.old');
    expect(cache.get(URL_A, 'public')).toEqual(pointer('new'));
    cache.drop(URL_A, 'public', 'e.new');
    expect(cache.get(URL_A, 'public')).toBeUndefined();
    cache.put(URL_A, 'public', VERDICT);
    cache.drop(URL_A, 'public', 'e.new');
    expect(cache.get(URL_A, 'public')).toEqual(VERDICT);
  });

  test('files that the owner of a local edge fetches are not public', async () => {
    const cache = new PointerCache(disk);
    cache.put(URL_A, 'private', pointer('secret'));
    expect(cache.get(URL_A, 'public')).toBeUndefined();
    const later = await afterRestart();
    expect(await later.load(URL_A, 'public')).toBeUndefined();
    expect(await later.load(URL_A, 'private')).toEqual(pointer('secret'));
    later.drop(URL_A, 'public');
    expect(later.get(URL_A, 'private')).toEqual(pointer('secret'));
  });

  test('no public name is a private one', () => {
    expect(scopedKey('public', URL_A)).toBe(URL_A);
    // A URL never begins like this, and has no spaces.
    expect(scopedKey('private', URL_A)).toBe(`private ${URL_A}`);
  });

  test('the two kinds of entry are told apart', () => {
    expect(isPointer(pointer('a'))).toBe(true);
    expect(isPointer(VERDICT)).toBe(false);
  });
});

describe('an answer without a file', () => {
  const answer = (body: string): OriginAnswer => ({
    code: 'origin-not-found',
    detail: 'it answered 404',
    retryAfterMs: undefined,
    status: 404,
    fields: {},
    body: Buffer.from(body),
    freshness: pointer('a').freshness,
    finalUrl: URL_A,
  });

  test('takes the place of the file, and a file takes its place', async () => {
    const cache = new PointerCache(disk);
    cache.put(URL_A, 'public', pointer('a'));
    cache.putAnswer(URL_A, 'public', answer('gone'), 0);
    expect(await cache.load(URL_A, 'public')).toBeUndefined();
    expect(cache.answer(URL_A, 'public')).toEqual(answer('gone'));
    expect(cache.answer(URL_A, 'private')).toBeUndefined();
    cache.put(URL_A, 'public', pointer('b'));
    expect(cache.answer(URL_A, 'public')).toBeUndefined();
  });

  test('does not outlive a purge, or one that began before its request ended', async () => {
    const purges = new Purges();
    const cache = new PointerCache(undefined, purges);
    const before = purges.current;
    cache.putAnswer(URL_A, 'public', answer('old'), before);
    await purges.purge(newPurge({ kind: 'all' }, 0), false);
    expect(cache.answer(URL_A, 'public')).toBeUndefined();
    cache.putAnswer(URL_A, 'public', answer('late'), before);
    expect(cache.answer(URL_A, 'public')).toBeUndefined();
  });

  test('has a small part of the memory, however many strangers ask for', () => {
    const bytes = 16 * 2 ** 20;
    const cache = new PointerCache(undefined, undefined, bytes);
    cache.put(URL_A, 'public', pointer('a'));
    for (let i = 0; i < 100; i++) {
      cache.putAnswer(`${URL_A}/${i}`, 'public', answer('x'.repeat(64 * 1024)), 0);
    }
    expect(cache.bytes).toBeLessThan(bytes / 8);
    expect(cache.get(URL_A, 'public')).toEqual(pointer('a'));
  });
});
