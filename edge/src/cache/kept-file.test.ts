import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Log } from '@millrace/shared/base/log';
import * as z from 'zod';
import { KeptFile } from './kept-file.ts';

const said: string[] = [];
const say = (_: object, text: string) => said.push(text);
const log = { warn: say, error: say } as unknown as Log;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  said.length = 0;
});
afterEach(() => rm(dir, { recursive: true }));

const kept = (where = dir) =>
  new KeptFile({ dir: where, name: 'list.json', schema: z.array(z.int()), log });

test('a write resolves when its change is on disk; many changes are one write', async () => {
  const file = kept();
  const list: number[] = [];
  const written: number[] = [];
  const add = (one: number) => {
    list.push(one);
    return file.write(() => {
      written.push(list.length);
      return list;
    });
  };
  const first = add(1);
  await Promise.all([first, add(2), add(3)]);
  expect(await kept().read()).toEqual([1, 2, 3]);
  await add(4);
  expect(await kept().read()).toEqual([1, 2, 3, 4]);
  expect(written).toEqual([3, 4]);
  expect(await readdir(dir)).toEqual(['list.json']);
});

test('a damaged file is not used, and a failed write is logged', async () => {
  expect(await kept().read()).toBeUndefined();
  expect(said).toEqual([]);
  for (const text of ['[1', '["a"]']) {
    await writeFile(join(dir, 'list.json'), text);
    expect(await kept().read()).toBeUndefined();
  }
  expect(said).toHaveLength(2);
  await kept(join(dir, 'nowhere')).write(() => [1]);
  expect(said[2]).toMatch(/cannot be written/);
});
