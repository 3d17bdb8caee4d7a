import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { LoginPages } from './login-page.ts';

let state: string;
let pages: LoginPages;

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  pages = new LoginPages(state, 60_000, false);
});

afterEach(async () => {
  await pages.clear();
  rmSync(state, { recursive: true, force: true });
});

test('a page leads to its URL, and only its user can read it', async () => {
  const url = 'http://127.0.0.1:6800/#code=told-to-nobody';
  const path = await pages.make(url);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).toContain(`url=${url}"`);
  expect(path).not.toContain('told-to-nobody');
});

test('pages are deleted once a code has been used, and by the next daemon', async () => {
  await pages.make('http://127.0.0.1:6800/#code=abc');
  await pages.clear();
  expect(await readdir(state)).toEqual([]);
  await pages.make('http://127.0.0.1:6800/#code=abc');
  writeFileSync(join(state, 'other.html'), '');
  await new LoginPages(state, 60_000, false).sweep();
  expect(await readdir(state)).toEqual(['other.html']);
});
