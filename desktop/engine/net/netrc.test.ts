import { chmod, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findInNetrc, readNetrc } from './netrc.ts';

describe('findInNetrc', () => {
  const FILE = `
# a comment with machine example.com login wrong
machine example.com login tom password one
machine files.test
  login "with \\"quotes\\" and blanks"
  password "b\\\\c"
  account none
macdef init
machine macro.test login wrong password wrong

machine example.com login second password two
machine nouser.test password three
default login anonymous password guest@
`;

  test.each([
    ['example.com', 'tom', 'one'],
    ['EXAMPLE.com', 'tom', 'one'],
    ['files.test', 'with "quotes" and blanks', 'b\\c'],
    ['macro.test', 'anonymous', 'guest@'],
    ['sub.example.com', 'anonymous', 'guest@'],
  ])('%s: %s', (host, user, password) => {
    expect(findInNetrc(FILE, host)).toEqual({ user, password });
  });

  test('a missing entry means no log-in, and a missing password an empty one', () => {
    expect(findInNetrc('machine a login b password c', 'd')).toBeUndefined();
    expect(findInNetrc('machine a login b', 'a')).toEqual({ user: 'b', password: '' });
  });

  test.each(['machine', 'machine a login', '"', 'default', 'login x password y', '\0'])(
    'a broken file has no log-in: %j',
    (text) => {
      expect(findInNetrc(text, 'a')).toBeUndefined();
    },
  );
});

describe('readNetrc', () => {
  let dir = '';
  let path = '';
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'millrace-'));
    path = join(dir, 'netrc');
    await writeFile(path, 'machine a login b password secret', { mode: 0o600 });
  });
  afterEach(() => rm(dir, { recursive: true }));

  test('finds the file by its path or by NETRC', async () => {
    const login = { user: 'b', password: 'secret' };
    expect(await readNetrc('a', path)).toEqual(login);
    expect(await readNetrc('a', undefined, { NETRC: path })).toEqual(login);
    expect(await readNetrc('a', undefined, { NETRC: join(dir, 'none') })).toBeUndefined();
  });

  test('a named file that cannot be used is an error', async () => {
    const open = join(dir, 'open');
    await writeFile(open, 'machine a login b password secret');
    await chmod(open, 0o644);
    const huge = join(dir, 'huge');
    await writeFile(huge, '', { mode: 0o600 });
    await truncate(huge, 2 * 1024 * 1024);
    const refused = process.platform === 'win32' ? [huge] : [open, huge];
    for (const bad of [...refused, join(dir, 'missing')]) {
      await expect(readNetrc('a', bad)).rejects.toMatchObject({ code: 'bad-option' });
    }
  });
});
