/** Checks that connections are reset by `resetConnection`, since Node's own call can lose them. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ALLOWED = /^(?:shared\/node\/reset-connection(?:\.test)?|scripts\/resets\.test)\.ts$/;

test('no file resets a connection by itself', () => {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.mjs'];
  const files = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  expect(files.length).toBeGreaterThan(1000);
  const own = files.filter(
    (file) =>
      !ALLOWED.test(file) && readFileSync(join(ROOT, file), 'utf8').includes('resetAndDestroy'),
  );
  expect(own).toEqual([]);
});
