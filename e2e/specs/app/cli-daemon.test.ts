/** The daemon from the command line, as users run it. */

import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { codeInFragment } from '@millrace/shared/bridge/page/session-api';
import { fetchAll, openResponse } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import type { View } from '../../fixtures/programs/daemon.ts';
import { DaemonCli, isAlive } from '../../fixtures/programs/daemon-cli.ts';
import { CLI } from '../../fixtures/programs/main-files.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1_000_000;

const origin = await FaultOrigin.start();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let cli: DaemonCli;

beforeEach(async () => {
  folder = await temporaryFolder();
  cli = new DaemonCli(folder.path);
  origin.reset();
});
afterEach(async () => {
  origin.openGate();
  await cli.kill();
  await folder.remove();
});
afterAll(() => origin.stop());

interface Added {
  readonly added: readonly View[];
  readonly failed: readonly { url: string; code: string }[];
}
interface Listed {
  readonly total: number;
  readonly downloads: readonly View[];
}

const digestOf = async (path: string) => sha256(await readFile(path));
const gated = (name: string) => origin.url('gate', { size: 4 * MB, seed: name, name });

async function add(...args: string[]): Promise<View> {
  const { added } = await cli.json<Added>('add', ...args);
  return added[0] as View;
}

/** Waits until some of a download is on disk, and the rest is held back. */
async function partly(name: string): Promise<void> {
  const journal = join(cli.downloads, `${name}.millrace-journal`);
  await until(async () => {
    const lines = (await readFile(journal, 'utf8').catch(() => '')).split('\n');
    return lines.length > 2 && origin.waiting > 0;
  });
}

describe('the life of a download', () => {
  test('add, list, pause, resume, watch to the end; then stop the daemon', async () => {
    await cli.startDaemon();
    const url = gated('film.mkv');
    const { gid } = await add(url, '--checksum', `sha-256=${origin.digest(url)}`);
    const id = gid.slice(0, 6);
    await partly('film.mkv');
    const text = await cli.run('list', 'active');
    expect(text.stdout).toMatch(new RegExp(`^ID +STATE[^\\n]*\\n${id} +active +film\\.mkv +\\d+%`));

    expect(await cli.json('pause', id)).toEqual({ gids: [gid] });
    const { downloads } = await cli.json<Listed>('list', 'waiting');
    expect(downloads).toMatchObject([{ gid, status: 'paused' }]);
    expect((await cli.json<Listed>('list', 'active')).total).toBe(0);

    const watch = cli.start('watch', '--until-done', id);
    // The watch does not wait for a paused download.
    expect((await watch.result).stdout).toMatch(new RegExp(`${id} paused film\\.mkv`));

    origin.openGate();
    expect(await cli.json('resume', id)).toEqual({ gids: [gid] });
    const watched = await cli.run('watch', '--until-done', id);
    expect(watched.code).toBe(0);
    const path = join(cli.downloads, 'film.mkv');
    expect(watched.stdout.trim().split('\n').at(-1)).toMatch(
      new RegExp(`^\\d{4}-\\d\\d-\\d\\d [\\d:]{8} ${id} complete film\\.mkv: 100% of `),
    );
    expect(await digestOf(path)).toBe(origin.digest(url));

    const found = await cli.json<Listed>('history', 'search', 'film');
    expect(found.downloads).toMatchObject([{ gid, status: 'complete', path }]);
    const pid = (await cli.pid()) as number;
    expect((await cli.run('daemon', 'stop')).stdout).toBe('The daemon has ended.\n');
    expect(isAlive(pid)).toBe(false);
  });

  test('a player reads it while it is being downloaded, and when it is complete', async () => {
    await cli.startDaemon();
    const url = gated('film.mp4');
    const { gid } = await add(url);
    await partly('film.mp4');
    const address = (await cli.run('stream', gid.slice(0, 6))).stdout.trim();
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/film\.mp4$/);
    const playing = fetchAll(address, { headers: { range: 'bytes=3000000-' } });
    origin.openGate();
    expect((await playing).digest).toBe(sha256(origin.content(url).subarray(3 * MB)));
    expect((await cli.run('watch', '--until-done')).code).toBe(0);
    expect((await fetchAll(address)).digest).toBe(origin.digest(url));
    // Players that still read do not keep the daemon from ending.
    const idle = await openResponse(address);
    idle.on('error', () => {});
    expect((await cli.run('daemon', 'stop')).code).toBe(0);
  });

  test('a killed daemon resumes it at the next start', async () => {
    await cli.startDaemon();
    const url = gated('big.iso');
    const { gid } = await add(url);
    await partly('big.iso');
    await cli.kill();
    expect((await cli.run('list')).code).toBe(3);
    origin.openGate();
    await cli.startDaemon();
    expect((await cli.run('watch', '--until-done')).code).toBe(0);
    const { download } = await cli.json<{ download: View }>('info', gid);
    expect(download).toMatchObject({ gid, status: 'complete' });
    expect(await digestOf(download.path)).toBe(origin.digest(url));
  });

  test('remove --now leaves nothing of it, and --keep leaves its files', async () => {
    await cli.startDaemon();
    const [kept, gone] = [await add(gated('kept.bin')), await add(gated('gone.bin'))];
    await partly('kept.bin');
    await partly('gone.bin');
    await cli.json('remove', '--keep', kept.gid.slice(0, 8));
    await cli.json('rm', '--now', gone.gid);
    await until(async () => {
      const names = await readdir(cli.downloads);
      return names.every((name) => name.startsWith('kept.bin.'));
    });
    expect((await readdir(cli.downloads)).length).toBeGreaterThan(0);
    const { downloads } = await cli.json<Listed>('list', 'stopped');
    expect(downloads.map(({ status }) => status)).toEqual(['removed', 'removed']);
  });

  test('a failure says what is wrong and what to do, and a new link resumes it', async () => {
    await cli.startDaemon();
    const { gid } = await add(origin.url('forbidden', { name: 'a.bin' }));
    const watched = await cli.run('watch', '--until-done');
    expect(watched.code).toBe(4);
    expect(watched.stdout).toMatch(/ error a\.bin: needs a new link: The origin refuses access/);
    const info = await cli.run('info', gid);
    expect(info.stdout).toMatch(/The origin refuses access[^\n]*\n[^\n]+\n[^\n]*millrace url /);
    const url = origin.url('none');
    await cli.json('url', gid, url);
    expect((await cli.run('watch', '--until-done', gid)).code).toBe(0);
    const { download } = await cli.json<{ download: View }>('info', gid);
    expect(await digestOf(download.path)).toBe(origin.digest(url));
  });
});

describe('adding', () => {
  test('starts a daemon where none runs, unless told not to', async () => {
    await mkdir(folder.path, { recursive: true });
    const url = origin.url('none', { name: 'here.bin' });
    const refused = await cli.run('add', url, '--no-start');
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(
      /No daemon is running\.\nStart one with "millrace daemon start --detach"\.\n/,
    );
    const { code, stderr, stdout } = await cli.run('add', url);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Started a daemon \(process \d+; its log: /);
    expect(stdout).toMatch(/^[0-9a-f]{6} \w+ here\.bin/);
    expect((await cli.run('watch', '--until-done')).code).toBe(0);
    // HOME names the user's folder for downloads.
    expect(await digestOf(join(folder.path, 'Downloads', 'here.bin'))).toBe(origin.digest(url));
  });

  test('several URLs, one of them bad, adds the others and exits with an error', async () => {
    await cli.startDaemon();
    const urls = ['a', 'b'].map((name) => origin.url('none', { name, seed: name }));
    const run = await cli.run('add', urls[0] as string, 'ftp://x/y', urls[1] as string, '--json');
    expect(run.code).toBe(2);
    const { added, failed } = JSON.parse(run.stdout) as Added;
    expect(added.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(failed).toMatchObject([{ url: 'ftp://x/y', code: 'bad-url' }]);
  });

  test('passes options on to the origin and the file', async () => {
    await cli.startDaemon();
    const url = origin.url('none');
    const dir = join(folder.path, 'elsewhere');
    const options = ['-d', dir, '-o', 'mine.bin', '--cookie', 'a=1', '--user', 'me:secret'];
    await add(url, ...options, '--referer', 'http://page.example/');
    expect((await cli.run('watch', '--until-done')).code).toBe(0);
    expect(await digestOf(join(dir, 'mine.bin'))).toBe(origin.digest(url));
    expect(origin.requests[0]?.headers).toMatchObject({
      cookie: 'a=1',
      authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
      referer: 'http://page.example/',
    });
  });

  test('takes a metalink from a file', async () => {
    await cli.startDaemon();
    const url = origin.url('none');
    const file = join(folder.path, 'list.meta4');
    await writeFile(
      file,
      `<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="named.bin">
      <hash type="sha-256">${origin.digest(url)}</hash><url>${url.replaceAll('&', '&amp;')}</url>
      </file></metalink>`,
    );
    expect(await add(file)).toMatchObject({ name: 'named.bin' });
    expect((await cli.run('watch', '--until-done')).code).toBe(0);
    expect(await digestOf(join(cli.downloads, 'named.bin'))).toBe(origin.digest(url));
  });

  test('takes a list that another daemon has exported', async () => {
    await cli.startDaemon();
    const url = gated('later.bin');
    await add(url, '--paused', '--header', 'Authorization: Bearer secret');
    const file = join(folder.path, 'list.json');
    expect((await cli.run('export', file)).code).toBe(0);
    expect(await readFile(file, 'utf8')).not.toContain('Bearer');
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect((await cli.run('export', file)).code).toBe(6); // the file exists
    await cli.run('daemon', 'stop');
    await rm(cli.state, { recursive: true });
    await cli.startDaemon();
    expect(await cli.json<{ gids: string[] }>('import', file)).toMatchObject({ skipped: [] });
    expect((await cli.json<Listed>('list')).downloads).toMatchObject([{ name: 'later.bin' }]);
  });
});

describe('the interface', () => {
  test('opens with a link that logs in once, and starts a daemon for it', async () => {
    // There is no display for a browser: the address is printed in any case.
    const { code, stdout, stderr } = await cli.run('open', '--print');
    expect(code).toBe(0);
    const url = new URL(stdout.trim());
    expect(stderr).toContain('Started a daemon');
    const body = JSON.stringify({ code: codeInFragment(url.hash) });
    const headers = { 'content-type': 'application/json' };
    const logIn = () => fetch(new URL('/session', url), { method: 'POST', headers, body });
    expect((await logIn()).status).toBe(204);
    expect((await logIn()).status).toBe(401);
    const { url: other } = await cli.json<{ url: string }>('open');
    expect(new URL(other).origin).toBe(url.origin);
    expect(other).not.toBe(url.href);
  });
});

describe('settings', () => {
  test('limits, schedule and categories survive a restart', async () => {
    await cli.startDaemon();
    await cli.json('limit', '2MiB/s', '--concurrent', '3');
    await cli.json('schedule', 'set', 'mon-fri 08:00-18:00 1MiB/s', 'daily 02:00-02:01 pause');
    await cli.json('categories', 'set', 'disks', 'Disks', '.ISO', 'img');
    await cli.kill();
    await cli.startDaemon();
    expect(await cli.json('limit')).toMatchObject({ limit: 2 * 2 ** 20, concurrent: 3 });
    const { stdout } = await cli.run('schedule');
    expect(stdout).toMatch(/^mon-fri 08:00-18:00 1MiB\/s\ndaily 02:00-02:01 pause\nNow /);
    expect(await cli.json('categories')).toMatchObject({
      categories: expect.arrayContaining([
        { name: 'disks', folder: 'Disks', extensions: ['iso', 'img'] },
      ]),
    });
    expect(await cli.json('limit', 'none')).not.toHaveProperty('limit');
  });
});

describe('the daemon in the background', () => {
  test('reports its address, and a second one is refused', async () => {
    expect((await cli.run('daemon', 'status')).code).toBe(3);
    expect((await cli.run('daemon', 'stop')).code).toBe(0);
    await cli.startDaemon();
    const second = await cli.run('daemon', '--detach', '--port', '0');
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(/A daemon is running already: process \d+ at http/);
    const status = await cli.json('daemon', 'status');
    expect(status).toMatchObject({ running: true, pid: await cli.pid(), dir: cli.downloads });
  });

  test('ends on SIGINT when run in the foreground, and leaves no address', async () => {
    const run = cli.start('daemon', '--port', '0', '--dir', cli.downloads);
    await until(async () => (await cli.pid()) !== undefined);
    run.child.kill('SIGINT');
    const { code, stdout } = await run.result;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Millrace daemon on http:\/\/127\.0\.0\.1:\d+\/jsonrpc\n$/);
    expect(await cli.pid()).toBeUndefined();
  });
});

describe('watching', () => {
  test('--json prints an object per line, and the daemon’s end as an error', async () => {
    await cli.startDaemon();
    const watch = cli.start('watch', '--json');
    const seen: { event: string; download?: View }[] = [];
    let text = '';
    watch.child.stdout?.on('data', (data) => {
      text += data;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) seen.push(JSON.parse(line));
    });
    const url = origin.url('none', { name: 'x.bin' });
    // The watch sees nothing until it has subscribed, so downloads are added until it does.
    await until(async () => {
      await add(url);
      return seen.some(
        ({ event, download }) => event === 'change' && download?.status === 'complete',
      );
    });
    await cli.run('daemon', 'stop');
    const { code } = await watch.result;
    expect(code).toBe(3);
    expect(seen.at(-1)).toMatchObject({ event: 'error', code: 'daemon-not-running' });
  });
});

describe('mistakes', () => {
  test('are reported with what to do, and exit status 2', async () => {
    await cli.startDaemon();
    const mistakes: [string[], RegExp][] = [
      [
        ['info', 'abcdef'],
        /There is no such download: abcdef\.\nList the downloads with "millrace list"/,
      ],
      [['pause'], /give ids, as "millrace list" shows them, or --all/],
      [['pause', 'film.mkv'], /up to 16 hexadecimal digits/],
      [['daemon', 'stpo'], /Did you mean stop\?/],
      [['lits'], /Did you mean list\?/],
      [['list', '--jsno'], /Did you mean --json\?/],
      [['add', 'http://x/', 'http://y/', '-o', 'one'], /--output is for one file/],
    ];
    const results = await Promise.all(mistakes.map(([args]) => cli.run(...args)));
    for (const [i, [args, message]] of mistakes.entries()) {
      expect([args, results[i]?.code]).toEqual([args, 2]);
      expect(results[i]?.stderr).toMatch(message);
      expect(results[i]?.stdout).toBe('');
    }
  });
});

describe('completion', () => {
  test('bash completes commands, values and the ids of downloads', async () => {
    await cli.startDaemon();
    const { gid } = await add(gated('x'), '--paused');
    const bin = join(folder.path, 'bin');
    await mkdir(bin);
    const program = `#!/bin/sh\nexec ${process.execPath} ${CLI} "$@"\n`;
    await writeFile(join(bin, 'millrace'), program);
    await chmod(join(bin, 'millrace'), 0o755);
    const script = `
      source <(millrace completion bash)
      try() {
        COMP_LINE="$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _millrace_complete; echo "\${COMPREPLY[@]}"
      }
      try 'millrace li' millrace li
      try 'millrace export --format=u' millrace export --format = u
      try 'millrace pause ${gid.slice(0, 3)}' millrace pause ${gid.slice(0, 3)}
      try 'millrace info --' millrace info --
      complete -p millrace`;
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], {
      env: { ...process.env, ...cli.env, PATH: `${bin}:${process.env.PATH}` },
    });
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      'list limit',
      'urls',
      gid.slice(0, 8),
      '--json --help',
      'complete -F _millrace_complete millrace',
      '',
    ]);
  });
});
