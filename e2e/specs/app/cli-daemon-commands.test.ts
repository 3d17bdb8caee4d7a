/** Commands about the daemon itself, as users run them: its page, settings, life and mistakes. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { codeInFragment, offeredInFragment } from '@millrace/shared/bridge/page/session-api';
import { sha256 } from '../../fixtures/origins/content.ts';
import type { View } from '../../fixtures/programs/daemon.ts';
import { CLI } from '../../fixtures/programs/main-files.ts';
import { DaemonCliStage } from '../../fixtures/stages/daemon-cli-stage.ts';
import { until } from '../../fixtures/until.ts';

const stage = await DaemonCliStage.set();
const { origin } = stage;

describe('the interface', () => {
  test('opens with a link that logs in once, and starts a daemon for it', async () => {
    // There is no display for a browser: the address is printed in any case.
    const { code, stdout, stderr } = await stage.cli.run('open', '--print');
    expect(code).toBe(0);
    const url = new URL(stdout.trim());
    expect(stderr).toContain('Started a daemon');
    const body = JSON.stringify({ code: codeInFragment(url.hash) });
    const headers = { 'content-type': 'application/json' };
    const logIn = () => fetch(new URL('/session', url), { method: 'POST', headers, body });
    expect((await logIn()).status).toBe(204);
    expect((await logIn()).status).toBe(401);
    const { url: other } = await stage.cli.json<{ url: string }>('open');
    expect(new URL(other).origin).toBe(url.origin);
    expect(other).not.toBe(url.href);
  });

  test('is opened by desktops for links, which it offers, and for files, which it adds paused', async () => {
    const link = origin.url('none', { name: 'link.bin' });
    const described = origin.url('none', { name: 'described.bin' });
    const metalink = join(stage.folder, 'a.meta4');
    await writeFile(
      metalink,
      `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="described.bin"><url>${described.replace(/&/g, '&amp;')}</url></file></metalink>`,
    );
    const { code, stdout, stderr } = await stage.cli.run(
      ...['open', '--print', `millrace:${link}`, metalink],
    );
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(offeredInFragment(new URL(stdout.trim()).hash)).toEqual([link]);
    const { downloads } = await stage.cli.call('list', { limit: 9 });
    expect(downloads.map(({ name, status }) => [name, status])).toEqual([
      ['described.bin', 'paused'],
    ]);
    const { path } = await stage.cli.call('loginPage', {});
    expect(path).toMatch(/\.html$/);
  });
});

describe('settings', () => {
  test('limits, schedule and categories survive a restart', async () => {
    await stage.cli.startDaemon();
    await stage.cli.json('limit', '2MiB/s', '--concurrent', '3');
    await stage.cli.json(
      'schedule',
      'set',
      'mon-fri 08:00-18:00 1MiB/s',
      'daily 02:00-02:01 pause',
    );
    await stage.cli.json('categories', 'set', 'disks', 'Disks', '.ISO', 'img');
    await stage.cli.kill();
    await stage.cli.startDaemon();
    expect(await stage.cli.json('limit')).toMatchObject({ limit: 2 * 2 ** 20, concurrent: 3 });
    const { stdout } = await stage.cli.run('schedule');
    expect(stdout).toMatch(/^mon-fri 08:00-18:00 1MiB\/s\ndaily 02:00-02:01 pause\nNow /);
    expect(await stage.cli.json('categories')).toMatchObject({
      categories: expect.arrayContaining([
        { name: 'disks', folder: 'Disks', extensions: ['iso', 'img'] },
      ]),
    });
    expect(await stage.cli.json('limit', 'none')).not.toHaveProperty('limit');
  });
});

describe('after a download', () => {
  test('its file is moved and given to a command of the settings, which survive a restart', async () => {
    await stage.cli.startDaemon();
    const note = join(stage.folder, 'note');
    const script = 'require("fs").writeFileSync(process.argv[1], process.argv[2])';
    const words = [process.execPath, '-e', script, note, '{digest} {path}'];
    expect((await stage.cli.run('after', 'command', 'note', '--', ...words)).code).toBe(0);
    await stage.cli.json('after', 'set', 'move=Sorted', 'run=note');
    await stage.cli.kill();
    await stage.cli.startDaemon();
    const url = origin.url('none', { name: 'then.bin' });
    const digest = origin.digest(url);
    const { gid } = await stage.add(url, '--checksum', `sha-256=${digest}`);
    const steps = async () => (await stage.cli.call('status', { gid })).after ?? [];
    await until(async () =>
      (await steps()).some(
        ({ action, state }) => action === 'run' && state !== 'waiting' && state !== 'running',
      ),
    );
    const path = join(stage.cli.downloads, 'Sorted', 'then.bin');
    expect((await steps()).map(({ action, state }) => `${action} ${state}`)).toEqual([
      'move done',
      'run done',
    ]);
    expect(await readFile(note, 'utf8')).toBe(`sha256:${digest} ${path}`);
    expect(sha256(await readFile(path))).toBe(digest);
    expect((await stage.cli.run('info', gid)).stdout).toContain('move=Sorted done');
  });
});

describe('the daemon in the background', () => {
  test('reports its address, and a second one is refused', async () => {
    expect((await stage.cli.run('daemon', 'status')).code).toBe(3);
    expect((await stage.cli.run('daemon', 'stop')).code).toBe(0);
    await stage.cli.startDaemon();
    const second = await stage.cli.run('daemon', '--detach', '--port', '0');
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(/A daemon is running already: process \d+ at http/);
    const status = await stage.cli.json('daemon', 'status');
    expect(status).toMatchObject({
      running: true,
      pid: await stage.cli.pid(),
      dir: stage.cli.downloads,
    });
  });

  test('ends on SIGINT when run in the foreground, and leaves no address', async () => {
    const run = stage.cli.start('daemon', '--port', '0', '--dir', stage.cli.downloads);
    // The daemon listens for signals from this line on, which comes after its address is written.
    await once(run.child.stdout as Readable, 'data');
    expect(await stage.cli.pid()).toBeDefined();
    run.child.kill('SIGINT');
    const { code, stdout } = await run.result;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Millrace daemon on http:\/\/127\.0\.0\.1:\d+\/jsonrpc\n$/);
    expect(await stage.cli.pid()).toBeUndefined();
  });
});

describe('uninstall', () => {
  test('keeps all files unless it is told otherwise, and finished ones always', async () => {
    await stage.cli.startDaemon();
    const { gid } = await stage.add(origin.url('none', { name: 'whole.bin' }));
    await until(async () => (await stage.cli.call('status', { gid })).status === 'complete');
    await stage.add(stage.gated('part.bin'));
    await stage.partly('part.bin');
    await stage.cli.json('native-host', 'install', 'firefox');
    const manifest = join(stage.folder, '.mozilla/native-messaging-hosts/dev.millrace.host.json');
    expect(existsSync(manifest)).toBe(true);
    // A test has no terminal, so nothing is asked.
    const kept = await stage.cli.json('uninstall');
    expect(kept).toEqual({ deletedDownloads: 0, deletedList: false });
    expect(existsSync(manifest)).toBe(false);
    expect((await stage.cli.run('daemon', 'status')).code).toBe(3);
    const files = () => readdirSync(stage.cli.downloads).filter((name) => !name.startsWith('.'));
    expect(files().toSorted()[0]).toMatch(/^part\.bin/);
    expect(files()).toContain('whole.bin');
    const all = await stage.cli.json('uninstall', '--delete-unfinished', '--delete-list');
    expect(all).toEqual({ deletedDownloads: 1, deletedList: true });
    expect(readdirSync(stage.cli.downloads)).toEqual(['whole.bin']);
    expect(existsSync(stage.cli.state)).toBe(false);
  });
});

describe('watching', () => {
  test('--json prints an object per line, and the daemon’s end as an error', async () => {
    await stage.cli.startDaemon();
    const watch = stage.cli.start('watch', '--json');
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
      await stage.add(url);
      return seen.some(
        ({ event, download }) => event === 'change' && download?.status === 'complete',
      );
    });
    await stage.cli.run('daemon', 'stop');
    const { code } = await watch.result;
    expect(code).toBe(3);
    expect(seen.at(-1)).toMatchObject({ event: 'error', code: 'daemon-not-running' });
  });
});

test('what follows a download is chosen anew, and given back to the settings', async () => {
  await stage.cli.startDaemon();
  const { gid } = await stage.add(origin.url('none', { name: 'then.bin' }), '--paused');
  const chosen = async (...then: string[]) => {
    const words = then.flatMap((word) => ['--then', word]);
    const { chosenAfter } = await stage.cli.json<{ chosenAfter?: object }>('change', gid, ...words);
    return chosenAfter;
  };
  expect(await chosen('extract', 'move=Sorted')).toEqual({ extract: true, move: 'Sorted' });
  expect(await chosen('open')).toEqual({ open: true });
  expect(await chosen('nothing')).toEqual({});
  expect(await chosen('settings')).toBeUndefined();
  const wrong = await stage.cli.run('change', gid, '--then', 'dance');
  expect(wrong.code).toBe(2);
});

describe('mistakes', () => {
  test('are reported with what to do, and exit status 2', async () => {
    await stage.cli.startDaemon();
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
    const results = await Promise.all(mistakes.map(([args]) => stage.cli.run(...args)));
    for (const [i, [args, message]] of mistakes.entries()) {
      expect([args, results[i]?.code]).toEqual([args, 2]);
      expect(results[i]?.stderr).toMatch(message);
      expect(results[i]?.stdout).toBe('');
    }
  });
});

describe('completion', () => {
  test('bash completes commands, values and the ids of downloads', async () => {
    await stage.cli.startDaemon();
    const { gid } = await stage.add(stage.gated('x'), '--paused');
    const bin = join(stage.folder, 'bin');
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
      env: { ...process.env, ...stage.cli.env, PATH: `${bin}:${process.env.PATH}` },
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
