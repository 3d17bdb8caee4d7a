/** Checks that rooms stay small: a folder holds one subject, which a reader can take in at once. */

import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Most files of a room, without its tests. */
const MOST = 20;

/** Returns the rooms with too many files, each with the number of its files. */
function crowded(files: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const file of files) {
    if (!/\.(?:tsx?|mjs|js|css)$/.test(file) || /\.test\.tsx?$/.test(file)) continue;
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  return [...counts].flatMap(([room, count]) => (count > MOST ? [`${room}: ${count}`] : []));
}

test('a room with one file too many is found, and its tests do not count', () => {
  const room = Array.from({ length: MOST }, (_, i) => `a/b/${i}.ts`);
  expect(crowded([...room, 'a/b/0.test.ts', 'a/b/data.json', 'a/b/c/0.ts'])).toEqual([]);
  expect(crowded([...room, 'a/b/more.css'])).toEqual([`a/b: ${MOST + 1}`]);
});

test('no room has more than twenty files', () => {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n');
  expect(files.length).toBeGreaterThan(1000);
  // If this fails: split the room by subject. ARCHITECTURE.md says which rooms there are.
  expect(crowded(files)).toEqual([]);
});
