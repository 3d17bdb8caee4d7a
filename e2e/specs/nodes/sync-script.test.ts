/** Scripts that bring a folder with the programs of any Unix, in place of `sync apply`. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { SyncFolders } from '../../fixtures/stages/sync-folders.ts';
import { apply, filesIn, published } from '../../fixtures/stages/sync-stage.ts';

const MiB = 1024 * 1024;
const run = promisify(execFile);
const folders = new SyncFolders('scripts of folders');
const { describe, test } = folders;

describe('--script', () => {
  const shells = ['sh', 'dash', 'bash --posix', 'busybox sh'].filter((words) =>
    ['/bin', '/usr/bin'].some((dir) => existsSync(`${dir}/${words.split(' ')[0]}`)),
  );

  test.each(shells)('%s %s: brings the folder with curl and sha256sum alone', async (words) => {
    const { dir, machine, publish, url } = await folders.make({
      ...{ 'a.txt': 100, 'b/c d/it\'s "odd" $HOME `x` %41é.txt': 200, empty: 0, '-n': 7 },
      ...{ 'large.bin': 3 * MiB },
    });
    await folders.stage.write(dir, 'bin/run', 30, 'run', 0o755);
    await mkdir(join(dir, 'nothing/in it'), { recursive: true });
    const script = folders.stage.place(`sync-${folders.begun}.sh`);
    await publish('--script', script, '--edge', folders.edge.url, '--edges-only');
    const [program = 'sh', ...before] = words.split(' ');
    const sh = (...args: string[]) => run(program, [...before, script, ...args]);

    const dry = await sh('--dry-run', machine);
    expect(dry.stdout).toContain('fetch bin/run (30 bytes)\n');
    expect(existsSync(machine)).toBe(false);
    expect((await sh(machine)).stdout).toBe('0 unchanged, 6 fetched, 0 failed\n');
    const expected = await published(dir);
    const seconds = (files: typeof expected) =>
      Object.fromEntries(
        Object.entries(files).map(([path, file]) => [
          path,
          { ...file, modified: Math.floor(file.modified / 1000) },
        ]),
      );
    expect(seconds(await filesIn(machine))).toEqual(seconds(expected));
    expect(existsSync(join(machine, 'nothing/in it'))).toBe(true);
    expect((await sh(machine)).stdout).toBe('6 unchanged, 0 fetched, 0 failed\n');

    // The partial file of an interrupted run is resumed; a wrong one is detected.
    await rm(join(machine, 'large.bin'));
    const digest = expected['large.bin']?.sha256 as string;
    const part = join(machine, '.millrace-sync', `${digest}.part`);
    for (const left of [contentOf('large.bin', MiB), contentOf('wrong', MiB)]) {
      await rm(join(machine, 'large.bin'), { force: true });
      await mkdir(join(machine, '.millrace-sync'));
      await writeFile(part, left);
      expect((await sh(machine)).stdout).toBe('5 unchanged, 1 fetched, 0 failed\n');
    }
    expect(seconds(await filesIn(machine))).toEqual(seconds(expected));

    // For apply the folder is up to date, although the script drops fractions of seconds.
    expect(await apply([url, machine])).toMatchObject({ fetched: 0 });
  });

  test('writes nothing through links, and never installs a wrong file', async () => {
    const { dir, machine, publish } = await folders.make({
      'a.txt': 100,
      'b/c.txt': 200,
      'd.txt': 10,
    });
    const script = folders.stage.place(`sync-${folders.begun}.sh`);
    await publish('--script', script);
    const outside = await folders.linkedFrom(machine, 'b');
    // A link to a folder: a plain mv would move the file into that folder.
    await symlink(outside, join(machine, 'a.txt'));
    await folders.stage.write(dir, 'd.txt', 10, 'replaced');
    const ended = await run('sh', [script, machine]).catch((error) => error);
    expect([ended.code, ended.stdout]).toEqual([1, '0 unchanged, 1 fetched, 2 failed\n']);
    expect(await filesIn(outside)).toEqual({});
    const files = await filesIn(machine);
    expect(files['a.txt']?.sha256).toBe(sha256(contentOf('a.txt', 100)));
    expect(files['d.txt']).toBeUndefined();
  });

  test('apply writes a script as well, and does nothing else', async () => {
    const { dir, machine, publish, url } = await folders.make();
    await publish();
    const script = folders.stage.place(`sync-${folders.begun}.sh`);
    expect((await runCli(['sync', 'apply', url, machine, '--script', script])).code).toBe(0);
    expect(existsSync(machine)).toBe(false);
    await run('sh', [script, machine]);
    expect(Object.keys(await filesIn(machine))).toEqual(Object.keys(await published(dir)));
  });
});
