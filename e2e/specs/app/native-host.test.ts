/** The native host, as a browser's extension uses it: with a real daemon behind it. */

import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { MAX_FROM_BROWSER_BYTES } from '@millrace/shared/bridge/native/native-api';
import { isAlive } from '../../fixtures/programs/daemon-cli.ts';
import { frame, framed, HostProcess, offerOf } from '../../fixtures/programs/native-host.ts';
import { failure, HostStage } from '../../fixtures/stages/host-stage.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1_000_000;
const stage = await HostStage.set();
const { origin } = stage;

describe('the daemon', () => {
  test('is started by hello, and outlives the host', async () => {
    await stage.cli.kill();
    const host = stage.start();
    await expect(host.call('list', { limit: 1 })).rejects.toEqual(failure('wrong-state'));
    await expect(host.call('hello', { version: 99, browser: 'x' })).rejects.toEqual(
      failure('bad-option'),
    );
    expect(await host.call('hello', { version: 1, browser: 'x' })).toEqual({
      version: 1,
      engine: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
    const pid = (await stage.cli.pid()) as number;
    expect(await host.end()).toBe(0);
    expect(isAlive(pid)).toBe(true);
  });

  test('killed during a hand-off, forgets a proven offer and keeps a committed download', async () => {
    const host = await stage.greeted();
    const url = origin.url('gate~2r', { size: 4 * MB, seed: 'k' });
    const offer = { ...(await offerOf(origin.url('none', { size: 4 * MB, seed: 'k' }))), url };
    const { handOff } = offer;
    await host.call('offer', offer);
    let ended = host.next('ended');
    await stage.cli.kill();
    await ended;
    expect(await host.call('offerState', { handOff })).toEqual({ state: 'unknown' });
    await expect(host.call('commit', { handOff })).rejects.toEqual(failure('no-such-download'));
    await host.call('offer', offer);
    const { gid } = await host.call('commit', { handOff });
    ended = host.next('ended');
    await stage.cli.kill();
    await ended;
    expect(await host.call('offerState', { handOff })).toEqual({ state: 'committed', gid });
    expect(await host.call('commit', { handOff })).toEqual({ gid });
    origin.openGate();
    await stage.complete(host, gid);
    // The host started the daemon, whose downloads go to the user's own folder.
    expect(await stage.digestOf('../Downloads/file.bin')).toBe(origin.digest(url));
    expect(await stage.listed(host)).toHaveLength(1);
  });

  test('is seen again by a watching host, whichever process started it', async () => {
    const host = await stage.greeted();
    await host.call('watch', { on: true });
    let changed = host.next('changed');
    await stage.cli.json('add', origin.url('none'));
    await changed;
    const ended = host.next('ended');
    await stage.cli.kill();
    await ended;
    changed = host.next('changed');
    await stage.cli.startDaemon();
    await changed;
    expect(await stage.listed(host)).toHaveLength(1);
  });
});

describe('downloads', () => {
  test('are added, paused, resumed, removed', async () => {
    const host = await stage.greeted();
    const link = { headers: {}, edges: [] };
    const url = origin.url('gate', { size: 4 * MB });
    const { gids } = await host.call('add', {
      links: [
        { ...link, url, fileName: 'named.bin' },
        { ...link, url: 'http://[' },
        { ...link, url: origin.url('not-found') },
      ],
    });
    expect(gids).toEqual([expect.any(String), null, expect.any(String)]);
    const [gid, , lost] = gids as [string, null, string];
    const is = (which: string, status: string) =>
      until(
        async () => (await stage.listed(host)).find((one) => one.gid === which)?.status === status,
      );
    await is(lost, 'error');
    const [first, second] = await stage.listed(host);
    // A running download comes before a failed one.
    expect(first).toMatchObject({ gid });
    expect(second).toMatchObject({ gid: lost, error: { code: 'origin-not-found' } });
    await is(gid, 'active');
    await host.call('command', { gid, command: 'pause' });
    await is(gid, 'paused');
    await host.call('command', { gid, command: 'resume' });
    origin.openGate();
    await is(gid, 'complete');
    expect(await stage.digestOf('named.bin')).toBe(origin.digest(url));
    await host.call('command', { gid: lost, command: 'resume' });
    await is(lost, 'error');
    for (const one of [gid, lost]) await host.call('command', { gid: one, command: 'remove' });
    expect(await stage.listed(host)).toEqual([]);
    // The trash folder exists until the daemon knows that nothing goes into it.
    await until(async () => (await stage.files()).join() === 'named.bin');
    await expect(host.call('command', { gid, command: 'pause' })).rejects.toEqual(
      failure('no-such-download'),
    );
  });

  test('are opened by the system if they are complete and not programs', async () => {
    const opened = join(stage.folder, 'opened');
    const bin = join(stage.folder, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'xdg-open'), `#!/bin/sh\necho "$@" >> '${opened}'\n`);
    await chmod(join(bin, 'xdg-open'), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ':0' };
    const host = await stage.greeted({ env });
    const add = async (name: string, fault = 'none') => {
      const links = [{ url: origin.url(fault, { name }), headers: {}, edges: [] }];
      return (await host.call('add', { links })).gids[0] as string;
    };
    const [film, program, never] = [await add('a.mkv'), await add('a.sh'), await add('b', 'gate')];
    await stage.complete(host, film);
    await stage.complete(host, program);
    const open = (gid: string) => host.call('command', { gid, command: 'open' });
    for (const refused of [program, never]) {
      await expect(open(refused)).rejects.toEqual(failure('wrong-state'));
    }
    await open(film);
    await host.call('command', { gid: program, command: 'show' });
    const lines = async () =>
      existsSync(opened) ? (await readFile(opened, 'utf8')).trim().split('\n').sort() : [];
    await until(async () => (await lines()).length === 2);
    expect(await lines()).toEqual([stage.cli.downloads, join(stage.cli.downloads, 'a.mkv')]);
    await host.call('openApp', {});
    await until(async () => (await lines()).length === 3);
    // The code is on no command line, but in a file that only the user can read.
    const page = new URL((await lines()).find((line) => line.startsWith('file:')) ?? '');
    expect((await stat(page)).mode & 0o777).toBe(0o600);
    const [, authority, code] =
      /url=http:\/\/(127\.0\.0\.1:\d+)\/#code=([\w-]+)"/.exec(await readFile(page, 'utf8')) ?? [];
    expect((await lines()).join()).not.toContain(code);
    const logIn = await fetch(`http://${authority}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    expect(logIn.status).toBe(204);
    await until(() => !existsSync(page));
  });
});

describe('the conversation', () => {
  test('keeps running after frames that are split, garbage, or too long', async () => {
    const host = stage.start();
    const hello = frame({ id: 1000, type: 'hello', version: 1, browser: 'x' });
    for (const byte of hello) host.send(Buffer.of(byte));
    host.send(framed(Buffer.from('{"id": 1')));
    host.send(frame('hello'));
    host.send(framed(Buffer.alloc(MAX_FROM_BROWSER_BYTES + 1, 'x')));
    expect(await stage.listed(host)).toEqual([]);
    expect(host.unread.map(({ code }) => code)).toEqual(['bad-option', 'bad-option', 'bad-option']);
    const strange = host.call('fly' as 'list', { limit: 1 });
    await expect(strange).rejects.toEqual(failure('bad-option'));
  });

  test('is with our extension only', async () => {
    const other = stage.start({ args: ['chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/'] });
    await until(() => other.child.exitCode !== null);
    expect(other.child.exitCode).toBe(2);
    expect(other.events).toEqual([]);
    const firefox = await stage.greeted({
      args: ['/x/dev.millrace.host.json', 'millrace@millrace.dev'],
    });
    expect(await stage.listed(firefox)).toEqual([]);
  });

  test('ends with standard input, even in the middle of a frame or an offer', async () => {
    const host = await stage.greeted();
    const offer = await offerOf(origin.url('none', { seed: 's' }));
    host.call('offer', { ...offer, url: origin.url('stall-header') }).catch(() => {});
    const { handOff } = offer;
    await until(async () => (await host.call('offerState', { handOff })).state === 'proving');
    host.send(frame({ id: 1 }).subarray(0, 6));
    expect(await host.end()).toBe(0);
  });

  test('works through the program that "native-host install" registers', async () => {
    const profile = join(stage.folder, "it's a profile");
    await stage.cli.json('native-host', 'install', 'chromium', '--dir', profile);
    const manifest = join(profile, 'NativeMessagingHosts', 'dev.millrace.host.json');
    const { path } = JSON.parse(await readFile(manifest, 'utf8'));
    // The browser knows nothing of the state folder.
    const { MILLRACE_STATE: _, ...env } = stage.cli.env;
    const host = stage.keep(
      new HostProcess({ env: env as Record<string, string>, program: [path] }),
    );
    await host.call('hello', { version: 1, browser: 'x' });
    const { browsers } = await stage.cli.json<{ browsers: { state: string }[] }>(
      ...['native-host', 'status', 'chromium', '--dir', profile],
    );
    expect(browsers).toEqual([expect.objectContaining({ state: 'current' })]);
    await stage.cli.json('native-host', 'uninstall', 'chromium', '--dir', profile);
    expect(existsSync(manifest)).toBe(false);
  });
});
