/**
 * The effects of `sync apply` on a folder, and the harm that no manifest, link or archive can do.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  readFile,
  readlink,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { racesOf } from '../../fixtures/programs/cluster.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { SyncFolders } from '../../fixtures/stages/sync-folders.ts';
import { apply, filesIn, published, readJson } from '../../fixtures/stages/sync-stage.ts';

const MiB = 1024 * 1024;
const run = promisify(execFile);
const folders = new SyncFolders('what becomes of folders');
const { describe, test } = folders;

describe('content that exists already', () => {
  test('is kept, unless --delete is given; a wrong date or mode alone fetches nothing', async () => {
    const { dir, machine, publish, url } = await folders.make();
    await folders.stage.write(dir, 'bin/run', 30, 'run', 0o755);
    await publish();
    await apply([url, machine]);
    await folders.stage.write(machine, 'own.txt', 5);
    await folders.stage.write(machine, 'own/deep/file', 5);
    await chmod(join(machine, 'bin/run'), 0o644);
    await utimes(join(machine, 'a.txt'), 1, 1);
    await folders.stage.sent();

    const settled = await apply([url, machine]);
    expect(settled).toMatchObject({ fetched: 0, settled: 2, removed: 0, unchanged: 1 });
    const expected = await published(dir);
    const own = Object.keys(await filesIn(machine)).filter((path) => path.startsWith('own'));
    expect(own).toEqual(['own.txt', 'own/deep/file']);
    expect(await filesIn(machine)).toMatchObject(expected);

    // Three files and links, and their two folders.
    await symlink('/etc', join(machine, 'own/link'));
    expect(await apply([url, machine, '--delete'])).toMatchObject({ removed: 5, fetched: 0 });
    expect(await filesIn(machine)).toEqual(expected);
    expect(existsSync(join(machine, 'own'))).toBe(false);
    expect(existsSync('/etc/passwd')).toBe(true);
  });

  test('is copied if another file of the manifest needs the same bytes', async () => {
    const { dir, machine, publish, url } = await folders.make({ 'a.txt': 3000 });
    await publish();
    await apply([url, machine]);
    await folders.stage.write(dir, 'moved/a.txt', 3000, 'a.txt');
    await publish();
    expect(await apply([url, machine])).toMatchObject({ fetched: 0, copied: 1, unchanged: 1 });
    expect(await filesIn(machine)).toEqual(await published(dir));
  });

  test('stays unchanged with --dry-run, which lists the plan', async () => {
    const { machine, publish, url } = await folders.make();
    await publish();
    const text = await runCli(['sync', 'apply', url, machine, '--dry-run']);
    expect([text.code, text.stdout]).toEqual([0, expect.stringContaining('fetch  b/c.txt (20 B)')]);
    expect(existsSync(machine)).toBe(false);
    await folders.stage.write(machine, 'a.txt', 10, 'other');
    await folders.stage.write(machine, 'extra', 10);
    const before = await filesIn(machine);
    const { plan } = await apply([url, machine, '--dry-run', '--delete']);
    expect(plan).toMatchObject({ fetch: ['a.txt', 'b/c.txt'], remove: ['extra'], folders: ['b'] });
    expect(await filesIn(machine)).toEqual(before);
  });

  test('is not removed if the origin lacks a file, and the other files arrive all the same', async () => {
    const { dir, machine, publish, url } = await folders.make({
      'a.txt': 10,
      'b.txt': 20,
      'c.txt': 30,
    });
    await publish();
    await rm(join(dir, 'b.txt'));
    await folders.stage.write(machine, 'own', 5);
    const { code, stdout } = await runCli(['sync', 'apply', url, machine, '--delete', '--json']);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      failed: [{ path: 'b.txt', code: 'origin-not-found' }],
      fetched: 2,
      removed: 0,
    });
    expect(existsSync(join(machine, 'own'))).toBe(true);
  });
});

describe('a file that differs from the manifest', () => {
  test('never gets its final name, whether from an edge or from the origin', async () => {
    const { dir, machine, publish, url } = await folders.make({ 'a.txt': 1000, large: 5 * MiB });
    await publish();
    await folders.stage.write(dir, 'a.txt', 1000, 'replaced');
    await folders.stage.write(dir, 'large', 5 * MiB, 'replaced');
    const { code, stdout } = await runCli([
      ...['sync', 'apply', url, machine, '--edge', folders.edge.url, '--retry-for', '2s', '--json'],
    ]);
    expect(code).not.toBe(0);
    const { failed } = JSON.parse(stdout);
    expect(failed.map(({ path }: { path: string }) => path).sort()).toEqual(['a.txt', 'large']);
    const names = Object.keys(await filesIn(machine));
    expect(names.filter((path) => !path.startsWith('.millrace-sync'))).toEqual([]);
  });
});

describe('links in the folder', () => {
  test('that lead elsewhere: nothing is written through them', async () => {
    const { machine, publish, url } = await folders.make();
    await publish();
    const outside = await folders.linkedFrom(machine, 'b');
    const refused = await runCli(['sync', 'apply', url, machine]);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('b (link)')]);
    expect([await filesIn(outside), Object.keys(await filesIn(machine))]).toEqual([{}, ['b']]);
    // The link is removed; its target stays.
    await writeFile(join(outside, 'kept'), '');
    await apply([url, machine, '--delete']);
    expect(Object.keys(await filesIn(outside))).toEqual(['kept']);
    expect((await lstat(join(machine, 'b'))).isDirectory()).toBe(true);
  });

  test('in place of a file: the file replaces the link, not its target', async () => {
    const { dir, machine, publish, url } = await folders.make();
    await publish();
    const outside = folders.stage.place(`outside-${folders.begun}`);
    await writeFile(outside, 'precious');
    await mkdir(machine);
    await symlink(outside, join(machine, 'a.txt'));
    await apply([url, machine]);
    expect(await filesIn(machine)).toEqual(await published(dir));
    expect((await lstat(outside)).size).toBe(8);
  });

  test('in place of our own folder: nothing is written at all', async () => {
    const { machine, publish, url } = await folders.make();
    await publish();
    const outside = await folders.linkedFrom(machine, '.millrace-sync');
    expect((await runCli(['sync', 'apply', url, machine])).code).toBe(6);
    expect([await filesIn(outside), await readlink(join(machine, '.millrace-sync'))]).toEqual([
      {},
      outside,
    ]);
  });
});

describe('a hostile manifest', () => {
  const body = contentOf('hostile', 10);
  const entry = {
    ...{ size: 10, sha256: sha256(body), mode: '644', modified: 1_600_000_000_000 },
  };
  // The unit tests of manifests cover the other refusals.
  const documents: readonly (readonly [string, object])[] = [
    ['an absolute path', { files: [{ path: '/tmp/millrace-hostile', ...entry }] }],
    ['a way out', { files: [{ path: '../hostile', ...entry }] }],
    ['a device', { files: [{ path: 'a/NUL.txt', ...entry }] }],
    ['a case clash', { files: ['Read', 'read'].map((path) => ({ path, ...entry })) }],
    ['one letter in two forms', { files: ['é', 'e\u0301'].map((path) => ({ path, ...entry })) }],
    ['a NUL', { files: [{ path: 'a\0/../../b', ...entry }] }],
    ['a name of 256 bytes', { files: [{ path: 'x'.repeat(256), ...entry }] }],
    ['a drive', { files: [{ path: 'C:hostile', ...entry }] }],
    ['a share', { files: [{ path: '\\\\server\\share', ...entry }] }],
    ['our own folder', { files: [{ path: '.millrace-sync/0.staged', ...entry }] }],
    ['its short name', { files: [{ path: 'MILLRA~1/lock', ...entry }] }],
    ['a file as a folder', { files: ['kept', 'kept/b'].map((path) => ({ path, ...entry })) }],
    ['a set-user-id bit', { files: [{ path: 'a', ...entry, mode: '4755' }] }],
    ['a link', { files: [{ path: 'a', ...entry, link: '/etc/passwd' }] }],
    ['a folder outside', { folders: ['../hostile'], files: [] }],
  ];

  test.each(documents)('%s: nothing is done, inside or outside', async (_, document) => {
    const around = folders.stage.place(`hostile-${folders.begun++}`);
    const machine = join(around, 'machine');
    await folders.stage.write(machine, 'kept', 3);
    const manifest = join(around, 'manifest.json');
    const head = {
      format: 'millrace-sync',
      version: 1,
      url: folders.stage.url('hostile'),
      folders: [],
    };
    await writeFile(manifest, JSON.stringify({ ...head, ...document }));
    const before = await filesIn(around);
    const { code, stdout } = await runCli([
      ...['sync', 'apply', manifest, machine, '--delete', '--json'],
    ]);
    expect([code, JSON.parse(stdout)]).toEqual([
      2,
      expect.objectContaining({ code: 'bad-manifest' }),
    ]);
    expect(await filesIn(around)).toEqual(before);
  });

  test('cut in half, or without its files: nothing is deleted', async () => {
    const { dir, machine, publish, url } = await folders.make();
    await publish();
    const path = join(dir, 'millrace-sync.json');
    const text = JSON.stringify(await readJson(path));
    await writeFile(path, text.slice(0, text.length / 2));
    await folders.stage.write(machine, 'own', 5);
    expect((await runCli(['sync', 'apply', url, machine, '--delete'])).code).toBe(2);
    await writeFile(path, JSON.stringify({ ...JSON.parse(text), files: [] }));
    expect((await runCli(['sync', 'apply', url, machine, '--delete'])).code).toBe(2);
    expect(Object.keys(await filesIn(machine))).toEqual(['own']);
  });

  test('with another digest than the known one is refused', async () => {
    const { dir, machine, publish, url } = await folders.make();
    await publish();
    const { stdout } = await folders.stage.publish(dir.slice(dir.lastIndexOf('/') + 1));
    const known = `sha-256=${JSON.parse(stdout).sha256}`;
    await apply([url, machine, '--checksum', known, '--edge', folders.edge.url]);
    await folders.stage.write(dir, 'a.txt', 11);
    await publish();
    const before = await filesIn(machine);
    // The edge may still have the manifest with this digest; the origin no longer has it.
    const refused = ['sync', 'apply', url, machine, '--checksum', known];
    expect((await runCli(refused)).code).not.toBe(0);
    expect(await filesIn(machine)).toEqual(before);
  });
});

describe('--archive', () => {
  test('brings a first deployment in one file; later ones file by file', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`d/${i % 7}/${i}`, i * 31]),
    );
    const { dir, machine, publish, url } = await folders.make({ ...files, big: 6 * MiB });
    await folders.stage.write(dir, 'bin/run', 30, 'run', 0o755);
    await publish('--archive');
    await folders.stage.sent();
    const racedBefore = await racesOf([folders.edge]);
    const first = await apply([url, machine, '--archive', '--edge', folders.edge.url]);
    expect(first).toMatchObject({ fetched: 62, unchanged: 0 });
    // Chunks of the archive, and the manifest; not a request per file.
    const races = (await racesOf([folders.edge])) - racedBefore;
    expect((await folders.stage.sent()).requests).toBeLessThan(20 + races);
    expect(await filesIn(machine)).toEqual(await published(dir));
    await folders.stage.write(dir, 'd/1/1', 500, 'new');
    await publish('--archive');
    expect(await apply([url, machine, '--archive'])).toMatchObject({ fetched: 1, unchanged: 61 });
  });

  test('an archive with other things in it than the manifest says brings only what is right', async () => {
    const { dir, machine, publish, url } = await folders.make({ 'a.txt': 100, 'b.txt': 100 });
    // An archive with a way out, a link, an absolute path and a changed file, and with the digest
    // that the manifest states.
    const made = folders.stage.place(`tar-${folders.begun}`);
    await folders.stage.write(made, 'a.txt', 100);
    await folders.stage.write(made, 'b.txt', 100, 'other');
    await folders.stage.write(folders.stage.place('.'), 'hostile-tar', 7);
    await symlink('/etc', join(made, 'link'));
    const tar = join(dir, 'millrace-sync.tar');
    await publish('--archive');
    await run('tar', ['-P', '-cf', tar, '-C', made, '../hostile-tar', 'link', 'b.txt', 'a.txt']);
    await run('tar', ['-P', '-rf', tar, folders.stage.place('hostile-tar')]);
    await rm(folders.stage.place('hostile-tar'));
    const path = join(dir, 'millrace-sync.json');
    const bytes = await readFile(tar);
    const archive = { path: 'millrace-sync.tar', size: bytes.length, sha256: sha256(bytes) };
    await writeFile(path, JSON.stringify({ ...(await readJson(path)), archive }));
    await apply([url, machine, '--archive']);
    expect(await filesIn(machine)).toEqual(await published(dir));
    expect(existsSync(folders.stage.place('hostile-tar'))).toBe(false);
  });
});

describe('publish', () => {
  test('names the items that it leaves out, and refuses names that some systems cannot have', async () => {
    const { name, dir } = await folders.make();
    await symlink('/etc/passwd', join(dir, 'link'));
    const { stdout, stderr } = await folders.stage.publish(name);
    expect(JSON.parse(stdout)).toMatchObject({ files: 2, leftOut: ['link'] });
    expect(stderr).toContain('link');
    await folders.stage.write(dir, 'A.txt', 10);
    const refused = await folders.stage.publish(name);
    expect([refused.code, JSON.parse(refused.stdout).code]).toEqual([2, 'bad-manifest']);
  });

  test('of the same folder is always the same', async () => {
    const { name } = await folders.make();
    const once = JSON.parse((await folders.stage.publish(name, '--archive')).stdout);
    // Left behind by a killed run.
    await writeFile(join(folders.stage.served(name), 'millrace-sync.json.new'), '{');
    const twice = JSON.parse((await folders.stage.publish(name, '--archive')).stdout);
    expect(twice).toEqual(once);
  });
});
