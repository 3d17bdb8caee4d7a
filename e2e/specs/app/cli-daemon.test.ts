/** Downloads of the daemon from the command line, as users run it: their life, and adding them. */

import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import * as torrents from '@millrace/shared/download/torrent/testing/torrents';
import { fetchAll, openResponse } from '../../fixtures/clients/http-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import type { View } from '../../fixtures/programs/daemon.ts';
import { isAlive } from '../../fixtures/programs/daemon-cli.ts';
import { type Added, DaemonCliStage } from '../../fixtures/stages/daemon-cli-stage.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1_000_000;
const stage = await DaemonCliStage.set();
const { origin } = stage;

interface Listed {
  readonly total: number;
  readonly downloads: readonly View[];
}

/** Names of the listed downloads. */
const names = async (...which: string[]) =>
  (await stage.cli.json<Listed>('list', ...which)).downloads.map(({ name }) => name);

const digestOf = async (path: string) => sha256(await readFile(path));

describe('the life of a download', () => {
  test('add, list, pause, resume, watch to the end; then stop the daemon', async () => {
    await stage.cli.startDaemon();
    const url = stage.gated('film.mkv');
    const { gid } = await stage.add(url, '--checksum', `sha-256=${origin.digest(url)}`);
    const id = gid.slice(0, 6);
    await stage.partly('film.mkv');
    const text = await stage.cli.run('list', 'active');
    expect(text.stdout).toMatch(
      new RegExp(`^ID\\tSTATE[^\\n]*\\n${id}\\tactive\\tfilm\\.mkv\\t\\d+%`),
    );

    expect(await stage.cli.json('pause', id)).toEqual({ gids: [gid] });
    const { downloads } = await stage.cli.json<Listed>('list', 'waiting');
    expect(downloads).toMatchObject([{ gid, status: 'paused' }]);
    expect((await stage.cli.json<Listed>('list', 'active')).total).toBe(0);

    const watch = stage.cli.start('watch', '--until-done', id);
    // The watch does not wait for a paused download.
    expect((await watch.result).stdout).toMatch(new RegExp(`${id} paused film\\.mkv`));

    origin.openGate();
    expect(await stage.cli.json('resume', id)).toEqual({ gids: [gid] });
    const watched = await stage.cli.run('watch', '--until-done', id);
    expect(watched.code).toBe(0);
    const path = join(stage.cli.downloads, 'film.mkv');
    expect(watched.stdout.trim().split('\n').at(-1)).toMatch(
      new RegExp(`^\\d{4}-\\d\\d-\\d\\d [\\d:]{8} ${id} complete film\\.mkv: 100% of `),
    );
    expect(await digestOf(path)).toBe(origin.digest(url));

    const found = await stage.cli.json<Listed>('history', 'search', 'film');
    expect(found.downloads).toMatchObject([{ gid, status: 'complete', path }]);
    const pid = (await stage.cli.pid()) as number;
    expect((await stage.cli.run('daemon', 'stop')).stdout).toBe('The daemon has ended.\n');
    expect(isAlive(pid)).toBe(false);
  });

  test('a player reads it while it is being downloaded, and when it is complete', async () => {
    await stage.cli.startDaemon();
    const url = stage.gated('film.mp4');
    const { gid } = await stage.add(url);
    await stage.partly('film.mp4');
    const address = (await stage.cli.run('stream', gid.slice(0, 6))).stdout.trim();
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/film\.mp4$/);
    const playing = fetchAll(address, { headers: { range: 'bytes=3000000-' } });
    origin.openGate();
    expect((await playing).digest).toBe(sha256(origin.content(url).subarray(3 * MB)));
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    expect((await fetchAll(address)).digest).toBe(origin.digest(url));
    // Players that still read do not keep the daemon from ending.
    const idle = await openResponse(address);
    idle.on('error', () => {});
    expect((await stage.cli.run('daemon', 'stop')).code).toBe(0);
  });

  test('a killed daemon resumes it at the next start', async () => {
    await stage.cli.startDaemon();
    const url = stage.gated('big.iso');
    const { gid } = await stage.add(url);
    await stage.partly('big.iso');
    await stage.cli.kill();
    expect((await stage.cli.run('list')).code).toBe(3);
    origin.openGate();
    await stage.cli.startDaemon();
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    const { download } = await stage.cli.json<{ download: View }>('info', gid);
    expect(download).toMatchObject({ gid, status: 'complete' });
    expect(await digestOf(download.path)).toBe(origin.digest(url));
  });

  test('remove --now leaves nothing of it, and --keep leaves its files', async () => {
    await stage.cli.startDaemon();
    const [kept, gone] = [
      await stage.add(stage.gated('kept.bin')),
      await stage.add(stage.gated('gone.bin')),
    ];
    await stage.partly('kept.bin');
    await stage.partly('gone.bin');
    await stage.cli.json('remove', '--keep', kept.gid.slice(0, 8));
    await stage.cli.json('rm', '--now', gone.gid);
    await until(async () => {
      const names = await readdir(stage.cli.downloads);
      return names.every((name) => name.startsWith('kept.bin.'));
    });
    expect((await readdir(stage.cli.downloads)).length).toBeGreaterThan(0);
    const { downloads } = await stage.cli.json<Listed>('list', 'stopped');
    expect(downloads.map(({ status }) => status)).toEqual(['removed', 'removed']);
  });

  test('a failure says what is wrong and what to do, and a new link resumes it', async () => {
    await stage.cli.startDaemon();
    const { gid } = await stage.add(origin.url('forbidden', { name: 'a.bin' }));
    const watched = await stage.cli.run('watch', '--until-done');
    expect(watched.code).toBe(4);
    expect(watched.stdout).toMatch(/ error a\.bin: needs a new link: The origin refuses access/);
    const info = await stage.cli.run('info', gid);
    expect(info.stdout).toMatch(/The origin refuses access[^\n]*\n[^\n]+\n[^\n]*millrace url /);
    const url = origin.url('none');
    await stage.cli.json('url', gid, url);
    expect((await stage.cli.run('watch', '--until-done', gid)).code).toBe(0);
    const { download } = await stage.cli.json<{ download: View }>('info', gid);
    expect(await digestOf(download.path)).toBe(origin.digest(url));
  });
});

describe('adding', () => {
  test('starts a daemon where none runs, unless told not to', async () => {
    await mkdir(stage.folder, { recursive: true });
    const url = origin.url('none', { name: 'here.bin' });
    const refused = await stage.cli.run('add', url, '--no-start');
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(
      /No daemon is running\.\nStart one with "millrace daemon start --detach"\.\n/,
    );
    const { code, stderr, stdout } = await stage.cli.run('add', url);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Started a daemon \(process \d+; its log: /);
    expect(stdout).toMatch(/^[0-9a-f]{6} \w+ here\.bin/);
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    // HOME names the user's folder for downloads.
    expect(await digestOf(join(stage.folder, 'Downloads', 'here.bin'))).toBe(origin.digest(url));
  });

  test('several URLs, one of them bad, adds the others and exits with an error', async () => {
    await stage.cli.startDaemon();
    const urls = ['a', 'b'].map((name) => origin.url('none', { name, seed: name }));
    const run = await stage.cli.run(
      'add',
      urls[0] as string,
      'ftp://x/y',
      urls[1] as string,
      '--json',
    );
    expect(run.code).toBe(2);
    const { added, failed } = JSON.parse(run.stdout) as Added;
    expect(added.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(failed).toMatchObject([{ url: 'ftp://x/y', code: 'bad-url' }]);
  });

  test('takes a copied command of curl, and a pattern of URLs', async () => {
    await stage.cli.startDaemon();
    const curl = join(stage.folder, 'copied.txt');
    const url = origin.url('none', { name: 'a.bin' });
    await writeFile(curl, `curl '${url}' \\\n -H 'x-mine: 1' -b 'a=1' --compressed\n`);
    const dir = join(stage.folder, 'copied');
    const { stdout } = await stage.cli.run('add', '--curl', curl, '-d', dir);
    expect(stdout).toBe('Added 1 download.\n');
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    expect(origin.requests[0]?.headers).toMatchObject({ cookie: 'a=1', 'x-mine': '1' });
    const pattern = origin.url('none', { name: 'f[09-10].bin' });
    expect((await stage.cli.run('add', pattern, '-d', dir)).stdout).toBe('Added 2 downloads.\n');
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    expect((await readdir(dir)).sort()).toEqual(['a.bin', 'f09.bin', 'f10.bin']);
    for (const name of ['a.bin', 'f09.bin', 'f10.bin']) {
      expect(await digestOf(join(dir, name))).toBe(origin.digest(url));
    }
  });

  test('takes the files of a listing that fit, after they were looked at', async () => {
    await stage.cli.startDaemon();
    const files = await FileServer.start();
    try {
      const headers = { 'content-type': 'text/html' };
      const rows = ['old/', 'a.iso', 'b.txt'].map((name) => `<a href="${name}">${name}</a> 7\n`);
      const page = `<title>Index of /pub/</title><pre>${rows.join('')}</pre>`;
      const url = files.add('/pub/', { body: Buffer.from(page), headers });
      const old = '<title>Index of /pub/old/</title><a href="a.iso">a.iso</a>';
      files.add('/pub/old/', { body: Buffer.from(old), headers });
      for (const path of ['/pub/a.iso', '/pub/old/a.iso']) {
        files.add(path, { body: Buffer.from(path), etag: '"a"' });
      }
      const dir = join(stage.folder, 'listed');
      const asked = ['add', '--from-page', url, '--depth', '1', '-d', dir, '--kind', 'images'];
      const dry = await stage.cli.json<{
        links: { name: string; folder: string; size?: number }[];
      }>(...asked, '--dry-run');
      expect(dry.links.map(({ folder, name, size }) => [folder, name, size])).toEqual([
        ['', 'a.iso', 7],
        ['old', 'a.iso', undefined],
      ]);
      expect((await stage.cli.json<Listed>('list')).downloads).toEqual([]);
      expect((await stage.cli.run(...asked)).stdout).toBe('Added 2 downloads.\n');
      expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
      expect(await readFile(join(dir, 'a.iso'), 'utf8')).toBe('/pub/a.iso');
      expect(await readFile(join(dir, 'old', 'a.iso'), 'utf8')).toBe('/pub/old/a.iso');
      expect((await stage.cli.run('add', '--from-page', url, '--match', '*.zip')).code).toBe(2);
      const { stdout } = await stage.cli.run('probe', `${url}a.iso`, `${url}none`);
      expect(stdout).toMatch(/^NAME\t.*\na\.iso\t10 B\tyes\t.*\n.*none\t.*no such file/);
    } finally {
      await files.stop();
    }
  });

  test('passes options on to the origin and the file', async () => {
    await stage.cli.startDaemon();
    const url = origin.url('none');
    const dir = join(stage.folder, 'elsewhere');
    const options = ['-d', dir, '-o', 'mine.bin', '--cookie', 'a=1', '--user', 'me:secret'];
    await stage.add(url, ...options, '--referer', 'http://page.example/');
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    expect(await digestOf(join(dir, 'mine.bin'))).toBe(origin.digest(url));
    expect(origin.requests[0]?.headers).toMatchObject({
      cookie: 'a=1',
      authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
      referer: 'http://page.example/',
    });
  });

  test('takes a metalink from a file', async () => {
    await stage.cli.startDaemon();
    const url = origin.url('none');
    const file = join(stage.folder, 'list.meta4');
    await writeFile(
      file,
      `<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="named.bin">
      <hash type="sha-256">${origin.digest(url)}</hash><url>${url.replaceAll('&', '&amp;')}</url>
      </file></metalink>`,
    );
    expect(await stage.add(file)).toMatchObject({ name: 'named.bin' });
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    expect(await digestOf(join(stage.cli.downloads, 'named.bin'))).toBe(origin.digest(url));
  });

  test('takes a torrent from a file, with a web server that the user knows', async () => {
    await stage.cli.startDaemon();
    const server = await FileServer.start();
    const body = Buffer.from(torrents.contentOf(9, torrents.ONE_BYTES));
    const mirror = server.add('/elsewhere.bin', { body });
    const file = join(stage.folder, 'one.torrent');
    await writeFile(file, torrents.SINGLE_V2.document);
    const refused = await stage.cli.run('add', file);
    expect([refused.code, refused.stderr]).toEqual([7, expect.stringMatching(/torrent client/)]);
    expect(await stage.add(file, '--mirror', mirror)).toMatchObject({ name: 'one.bin' });
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    expect(await digestOf(join(stage.cli.downloads, 'one.bin'))).toBe(sha256(body));
    await server.stop();
  });

  test('saves the document itself at the link of a torrent with -o, as get does', async () => {
    await stage.cli.startDaemon();
    const server = await FileServer.start();
    const document = Buffer.from(torrents.SINGLE_V2.document);
    const url = server.add('/one.torrent', { body: document });
    expect(await stage.add(url, '-o', 'saved.torrent')).toMatchObject({ name: 'saved.torrent' });
    expect((await stage.cli.run('watch', '--until-done')).code).toBe(0);
    expect(await digestOf(join(stage.cli.downloads, 'saved.torrent'))).toBe(sha256(document));
    await server.stop();
  });

  test('a torrent leads to its files once it is complete, and its link is used once', async () => {
    await stage.cli.startDaemon();
    const server = await FileServer.start();
    const body = Buffer.from(torrents.contentOf(9, torrents.ONE_BYTES));
    const seed = server.add('/one.bin', { body });
    const document = Buffer.from(torrents.withSeeds(torrents.SINGLE_V2.document, [seed]));
    const headers = { 'content-type': 'application/x-bittorrent' };
    const url = server.add('/get?once=1', { body: document, headers });
    const named = server.add('/kept.torrent', { body: document });
    await stage.cli.run('add', url, '--follow', 'mem');
    await stage.cli.run('add', named, '--follow', 'true');
    await until(async () => (await names('stopped')).length === 4);
    expect((await names('stopped')).sort()).toEqual([
      'get',
      'kept.torrent',
      'one.1.bin',
      'one.bin',
    ]);
    expect((await readdir(stage.cli.downloads)).sort()).toEqual([
      'kept.torrent',
      'one.1.bin',
      'one.bin',
    ]);
    for (const name of ['one.bin', 'one.1.bin']) {
      expect(await digestOf(join(stage.cli.downloads, name))).toBe(sha256(body));
    }
    expect(server.requests.filter(({ url: path }) => path === '/get?once=1')).toHaveLength(1);
    await server.stop();
  });

  test('a daemon that is killed before the files of a description are added adds them once', async () => {
    await stage.cli.startDaemon();
    const server = await FileServer.start();
    const held = Promise.withResolvers<void>();
    const body = Buffer.from(torrents.contentOf(9, torrents.ONE_BYTES));
    const seed = server.add('/one.bin', { body });
    const torrent = Buffer.from(torrents.withSeeds(torrents.SINGLE_V2.document, [seed]));
    const file = { body: torrent, hold: held.promise, holdsWhole: true };
    const xs = encodeURIComponent(server.add('/one.torrent', file));
    // A magnet link is read in two steps: that of its torrent is held.
    const magnet = Buffer.from(`magnet:?xt=urn:btmh:1220${torrents.SINGLE_V2.v2}&xs=${xs}`);
    const headers = { 'content-type': 'application/x-bittorrent' };
    await stage.add(server.add('/link', { body: magnet, headers }), '--follow', 'mem');
    await until(async () => server.held > 0 && (await names('stopped')).length === 1);
    await stage.cli.kill();
    held.resolve();
    await stage.cli.startDaemon();
    await until(async () => (await names('stopped')).length === 2);
    expect((await names()).sort()).toEqual(['link', 'one.bin']);
    expect(await digestOf(join(stage.cli.downloads, 'one.bin'))).toBe(sha256(body));
    await until(async () => (await readdir(stage.cli.downloads)).length === 1);
    await server.stop();
  });

  test('takes a list that another daemon has exported', async () => {
    await stage.cli.startDaemon();
    const url = stage.gated('later.bin');
    await stage.add(url, '--paused', '--header', 'Authorization: Bearer secret');
    const file = join(stage.folder, 'list.json');
    expect((await stage.cli.run('export', file)).code).toBe(0);
    expect(await readFile(file, 'utf8')).not.toContain('Bearer');
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect((await stage.cli.run('export', file)).code).toBe(6); // the file exists
    const { code, stdout } = await stage.cli.run('export', '-', '--format', 'urls');
    expect([code, stdout]).toEqual([0, `${url}\n`]);
    await stage.cli.run('daemon', 'stop');
    await rm(stage.cli.state, { recursive: true });
    await stage.cli.startDaemon();
    expect(await stage.cli.json<{ gids: string[] }>('import', file)).toMatchObject({ skipped: [] });
    expect((await stage.cli.json<Listed>('list')).downloads).toMatchObject([{ name: 'later.bin' }]);
  });
});
