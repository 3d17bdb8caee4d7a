import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Blocked } from './blocked.ts';

const dir = await mkdtemp(join(tmpdir(), 'millrace-blocked-'));
afterAll(() => rm(dir, { recursive: true }));

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];

describe('Blocked', () => {
  test('is the same for the next run, whatever came and went at once', async () => {
    const blocked = await Blocked.open(dir);
    expect([blocked.has(A), blocked.has(undefined), blocked.count]).toEqual([false, false, 0]);
    await Promise.all([blocked.set([A, B, A], true), blocked.set([B], false)]);
    const next = await Blocked.open(dir);
    expect([next.has(A), next.has(B), next.count]).toEqual([true, false, 1]);
  });

  test('takes no more digests than a list may have', async () => {
    const blocked = await Blocked.open(dir);
    const many = Array.from({ length: 100_000 }, (_, i) => i.toString(16).padStart(64, '0'));
    await expect(blocked.set(many, true)).rejects.toMatchObject({ code: 'bad-option' });
    expect(blocked.count).toBe(1);
  });

  test('with a damaged list, no depot opens: it would serve what is blocked', async () => {
    await writeFile(join(dir, 'blocked'), `${A}\n${B.slice(1)}\n`);
    await expect(Blocked.open(dir)).rejects.toThrow(/line 2 is not a SHA-256/);
  });
});
