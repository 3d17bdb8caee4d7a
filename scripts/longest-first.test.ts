/** Checks that the order of test files names files that are there. */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { LONG } from '../e2e/fixtures/longest-first.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

test('each test file that takes long is named once, and so that no other is meant', () => {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n');
  const files = listed.filter((path) => path.endsWith('.test.ts'));
  expect(files.length).toBeGreaterThan(500);
  // If this fails: a test file has a new name, or another one has that name as well.
  const meant = LONG.map((name) => files.filter((path) => `/${path}`.endsWith(`/${name}.test.ts`)));
  expect(LONG.filter((_, i) => meant[i]?.length !== 1)).toEqual([]);
  expect(new Set(meant.flat()).size).toBe(LONG.length);
});
