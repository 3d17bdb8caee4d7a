/** Files of exNodes as downloads of the daemon, and as streams: what users see, and what stays secret. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { StreamProcess } from '../../fixtures/programs/stream-process.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const seed = testSeed('downloads of exNodes');
const random = seededRandom(seed);

const MIB = 1024 * 1024;
const BYTES = 12 * MIB + 345;
const NAME = 'Mia’s film.mkv';
const KEY = /#k\.([A-Za-z0-9_-]{43})$/;

const stage = await DepotStage.set();
const content = contentOf(`of seed ${seed}`, BYTES);
const edges = await Promise.all(
  ['a', 'b'].map((name) => stage.start('--depot-dir', join(stage.folder, name))),
);
const folder = join(stage.folder, 'daemon');
const downloads = join(folder, 'downloads');
const exnode = join(stage.folder, 'film.exnode');
let daemon = await DaemonProcess.start(folder);
afterAll(() => daemon.stop('SIGKILL'));
let links: string[] = [];

beforeAll(async () => {
  const path = join(stage.folder, NAME);
  await writeFile(path, content);
  const at = edges.flatMap(({ url }) => ['--edge', url]);
  const args = ['upload', path, '--encrypt', ...at, '--token-file', stage.tokenFile, '--json'];
  const env = { MILLRACE_STATE: join(stage.folder, 'state') };
  const { code, stdout, stderr } = await runCli([...args, '-o', exnode], env);
  if (code !== 0) throw new Error(stdout + stderr);
  links = JSON.parse(stdout.trim().split('\n').at(-1) as string).links;
});

const digestOf = async (path: string) => sha256(await readFile(path));
const stored = async (gid: string) => (await daemon.status(gid)).storedBytes;

/** Runs a command with the daemon of the test. */
const cli = (...args: string[]) =>
  runCli(args, { MILLRACE_STATE: join(folder, 'state'), MILLRACE_DIR: downloads });

describe('a link to an encrypted file', () => {
  test('is downloaded from all depots, paused, killed and resumed, and decrypted', async () => {
    const [link = ''] = links;
    const gid = await daemon.add({ urls: [link], limit: MIB / 2 });
    expect(await daemon.status(gid)).toMatchObject({ name: NAME });
    await until(async () => (await stored(gid)) > (3 + random()) * (MIB / 2));
    const { sources } = await daemon.call('millrace.sources', { gid });
    expect(sources.map(({ kind, label }) => [kind, label]).sort()).toEqual(
      edges.map(({ url }) => ['depot', new URL(url).host]).sort(),
    );
    await daemon.call('millrace.pause', { gids: [gid] });
    await daemon.reaches(gid, 'paused');
    const before = await stored(gid);
    await daemon.call('millrace.resume', { gids: [gid] });
    await until(async () => (await stored(gid)) > before + MIB / 2);
    await daemon.stop('SIGKILL');
    daemon = await DaemonProcess.start(folder);
    await daemon.call('millrace.change', { gid, limit: null });
    const { path = '', receivedBytes } = await daemon.reaches(gid, 'complete');
    expect([path, await digestOf(path)]).toEqual([join(downloads, NAME), sha256(content)]);
    // A run that began anew would receive one and a half MiB more at least.
    expect(receivedBytes).toBeLessThan(BYTES + MIB);

    const key = KEY.exec(link)?.[1] as string;
    const told = [
      await daemon.call('millrace.list', {}),
      await daemon.call('millrace.detail', { gid, cells: 10 }),
      await daemon.call('aria2.tellStopped', 0, 10),
      await daemon.call('aria2.getUris', gid),
      await daemon.call('millrace.export', { which: 'all', format: 'json', secrets: false }),
      await daemon.call('millrace.export', { which: 'all', format: 'aria2', secrets: false }),
      daemon.log,
      await readFile(join(folder, 'state', 'daemon.log'), 'utf8').catch(() => ''),
    ];
    expect(JSON.stringify(told)).toContain(NAME);
    expect(JSON.stringify(told)).not.toContain(key);
  });

  test('is known as a duplicate, and is an entry of a list that keeps its key if that is wanted', async () => {
    const [link = ''] = links;
    const parsed = await daemon.call('millrace.parseText', { text: `see ${link}, please` });
    expect(parsed.links).toMatchObject([
      { url: link, exnode: true, duplicate: { same: 'url', name: NAME } },
    ]);
    const list = { which: 'all', format: 'json' } as const;
    const { text } = await daemon.call('millrace.export', { ...list, secrets: true });
    const { text: session } = await daemon.call('millrace.export', {
      ...{ which: 'all', format: 'aria2', secrets: true },
    });
    expect(session.split('\n')[0]).toBe(link);
    const { text: bare } = await daemon.call('millrace.export', { ...list, secrets: false });
    for (const [given, status] of [
      [text, 'complete'],
      [session, 'complete'],
      [bare, 'error'],
    ] as const) {
      const fresh = given.replace(/"state": "complete"/g, '"state": "queued"');
      const { gids } = await daemon.call('millrace.import', { text: fresh, trusted: true });
      const { path, error } = await daemon.reaches(gids[0] as string, status);
      if (status === 'error') expect(error).toMatchObject({ code: 'wrong-key' });
      else expect(await digestOf(path as string)).toBe(sha256(content));
    }
  });

  test('is refused with a wrong key, which nobody is told', async () => {
    const [link = ''] = links;
    const key = KEY.exec(link)?.[1] as string;
    const wrong = `${key.startsWith('A') ? 'B' : 'A'}${key.slice(1)}`;
    const before = await daemon.call('millrace.list', {});
    for (const given of [wrong, key.slice(0, -3)]) {
      const asked = { urls: [link.replace(key, given)] };
      const refused = await daemon.call('millrace.add', asked).catch((error: unknown) => error);
      expect(refused).toMatchObject({ data: { code: 'wrong-key' } });
      expect(JSON.stringify(refused)).not.toContain(given);
      const { failed, gids } = await daemon.call('millrace.addMany', { downloads: [asked] });
      expect([failed[0]?.code, gids]).toEqual(['wrong-key', []]);
    }
    const mirrored = { urls: [link, 'https://mirror.test/film.mkv'] };
    await expect(daemon.call('millrace.add', mirrored)).rejects.toMatchObject({
      data: { code: 'bad-option' },
    });
    expect((await daemon.call('millrace.list', {})).total).toBe(before.total);
  });

  test('is taken from clients of aria2; other links to its file are refused', async () => {
    const gid = await daemon.call('aria2.addUri', [links[1]], { out: 'by aria2.mkv' });
    const { path = '' } = await daemon.reaches(String(gid), 'complete');
    expect([path, await digestOf(path)]).toEqual([
      join(downloads, 'by aria2.mkv'),
      sha256(content),
    ]);
    const asked = { gid, url: `${edges[0]?.url}/other.mkv` };
    await expect(daemon.call('millrace.replaceUrl', asked)).rejects.toMatchObject({
      data: { code: expect.stringMatching(/wrong-state|bad-option/) },
    });
  });
});

describe('an exNode in a file', () => {
  test('is added by the command, and leaves nothing when it is removed on its way', async () => {
    const added = await cli('add', exnode, '--limit', '200K', '-d', downloads, '--json');
    expect(added).toMatchObject({ code: 0 });
    const [{ gid }] = JSON.parse(added.stdout).added;
    await daemon.partly(gid);
    expect((await readdir(downloads)).some((name) => name.endsWith('.millrace-part'))).toBe(true);
    const { urls } = await daemon.status(gid);
    expect(urls.map((url) => new URL(url).origin).sort()).toEqual(
      edges.map(({ url }) => new URL(url).origin).sort(),
    );
    await daemon.call('aria2.remove', gid);
    await until(
      async () => !(await readdir(downloads)).some((name) => name.endsWith('.millrace-part')),
    );
  });

  test('that is damaged is refused with the reason', async () => {
    const document = JSON.parse(await readFile(exnode, 'utf8'));
    await writeFile(join(stage.folder, 'bad.exnode'), JSON.stringify({ ...document, size: 7 }));
    const { code, stderr } = await cli('add', join(stage.folder, 'bad.exnode'));
    expect([code, stderr]).toEqual([2, expect.stringContaining('exNode')]);
  });
});

test('a player seeks in an encrypted file, which is decrypted by offset', async () => {
  const args = [links[0] as string, '-d', join(stage.folder, 'a'), '--limit', '2M'];
  const stream = await StreamProcess.start(args);
  try {
    for (let i = 0; i < 4; i++) {
      const start = Math.floor(random() * (BYTES - MIB));
      const end = start + 1 + Math.floor(random() * 200_000);
      const range = `bytes=${start}-${end - 1}`;
      const { status, body, headers } = await fetchAll(stream.url, { headers: { range } });
      expect([status, headers['content-range']]).toEqual([
        206,
        `bytes ${start}-${end - 1}/${BYTES}`,
      ]);
      expect(sha256(body)).toBe(sha256(content.subarray(start, end)));
    }
  } finally {
    await stream.kill();
  }
});
