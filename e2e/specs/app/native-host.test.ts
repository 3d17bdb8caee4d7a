/** The native host, as a browser's extension uses it: with a real daemon behind it. */

import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  MAX_FROM_BROWSER_BYTES,
  type NativeDownload,
  type NativeOffer,
} from '@millrace/shared/bridge/native/native-api';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { DaemonCli, isAlive } from '../../fixtures/programs/daemon-cli.ts';
import {
  frame,
  framed,
  HostProcess,
  type HostStart,
  offerOf,
} from '../../fixtures/programs/native-host.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { becomes, until } from '../../fixtures/until.ts';

const MB = 1_000_000;

const origin = await FaultOrigin.start();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let cli: DaemonCli;
const hosts: HostProcess[] = [];

beforeEach(async () => {
  origin.reset();
  folder = await temporaryFolder();
  cli = new DaemonCli(folder.path);
  await cli.startDaemon();
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.end();
  await cli.kill();
  await folder.remove();
});
afterAll(() => origin.stop());

function start(more: Partial<HostStart> = {}): HostProcess {
  const { env, ...rest } = more;
  const host = new HostProcess({ ...rest, env: { ...cli.env, ...env } });
  hosts.push(host);
  return host;
}

async function greeted(more: Partial<HostStart> = {}): Promise<HostProcess> {
  const host = start(more);
  await host.call('hello', { version: 1, browser: 'test' });
  return host;
}

const failure = (code: string) => expect.objectContaining({ code });
const files = () => readdir(cli.downloads).catch(() => []);

async function listed(host: HostProcess): Promise<readonly NativeDownload[]> {
  return (await host.call('list', { limit: 500 })).downloads;
}

async function complete(host: HostProcess, gid: string): Promise<NativeDownload> {
  let found: NativeDownload | undefined;
  await until(async () => {
    found = (await listed(host)).find((one) => one.gid === gid);
    if (found?.status === 'error') throw new Error(JSON.stringify(found.error));
    return found?.status === 'complete';
  });
  return found as NativeDownload;
}

async function digestOf(name: string): Promise<string> {
  return sha256(await readFile(join(cli.downloads, name)));
}

describe('a hand-off', () => {
  test('brings the right file, with the headers that the browser would send', async () => {
    const host = await greeted();
    const url = origin.url('none', { size: 3 * MB });
    const headers = { Cookie: 'session=1', 'User-Agent': 'Browser/1', Referer: url };
    const offer = await offerOf(url, { fileName: 'a file (1).iso', headers });
    origin.reset();
    await host.call('offer', offer);
    expect(await files()).toEqual([]);
    expect(await listed(host)).toEqual([]);
    expect(origin.sentBytes).toBeLessThanOrEqual(64 * 1024);
    const { gid } = await host.call('commit', { handOff: offer.handOff });
    expect(await complete(host, gid)).toMatchObject({
      name: 'a file (1).iso',
      storedBytes: 3 * MB,
    });
    expect(await digestOf('a file (1).iso')).toBe(origin.digest(url));
    for (const request of origin.requests) {
      expect(request.headers).toMatchObject({
        cookie: 'session=1',
        'user-agent': 'Browser/1',
        referer: url,
      });
    }
  });

  test('brings the file to the path that the browser chose, whichever process is killed meanwhile', async () => {
    await cli.kill();
    await cli.json('daemon', '--detach', '--port', '0');
    const pictures = join(folder.path, 'Pictures');
    await mkdir(pictures);
    const url = origin.url('none', { size: 3 * MB });
    for (const [number, victim] of ['host', 'daemon', 'both'].entries()) {
      const host = await greeted();
      const fileName = `file-${number}.iso`;
      const offer = await offerOf(url, { fileName, path: join(pictures, fileName) });
      await host.call('offer', offer);
      const committed = host.call('commit', { handOff: offer.handOff }).catch(() => undefined);
      // The commit may or may not have arrived by then.
      if (victim !== 'daemon') host.child.kill('SIGKILL');
      if (victim !== 'host') await cli.kill();
      await committed;
      const next = await greeted();
      const state = await next.call('offerState', { handOff: offer.handOff });
      if (state.state !== 'committed') {
        await until(async () => !(await readdir(pictures)).includes(fileName));
        await next.call('offer', offer);
      }
      const { gid } = await next.call('commit', { handOff: offer.handOff });
      await complete(next, gid);
      expect(sha256(await readFile(join(pictures, fileName)))).toBe(origin.digest(url));
    }
    // The daemon removes its own files beside a download once it has recorded the completion.
    const names = 'file-0.iso,file-1.iso,file-2.iso';
    await until(async () => (await readdir(pictures)).sort().join() === names);
    expect(await readdir(join(folder.path, 'Downloads')).catch(() => [])).toEqual([]);
  });

  test('that does not get the same file leaves nothing behind', async () => {
    const host = await greeted();
    const seed = 'same';
    const good = await offerOf(origin.url('none', { seed }));
    const of = (fault: string, more: Partial<NativeOffer> = {}): Promise<NativeOffer> =>
      Promise.resolve({
        ...good,
        handOff: crypto.randomUUID(),
        url: origin.url(fault, { seed }),
        ...more,
      });
    const wrong: [string, Promise<NativeOffer>][] = [
      ['different-file', of('none', { length: good.length + 1 })],
      ['different-file', of('none', { etag: '"another"' })],
      ['different-file', offerOf(origin.url('etag-per-request'))],
      ['version-unproven', of('no-validators')],
      ['origin-denied', of('forbidden')],
      ['different-file', of('login-page')],
      // The right file and validator, but without ranges we can do no more than the browser does.
      ['range-ignored', of('no-ranges')],
      ['wrong-range', of('wrong-start')],
      ['wrong-encoding', of('gzip')],
      ['origin-reset', of('short-body')],
      ['origin-reset', of('reset-at-once')],
      ['origin-refused', of('refused')],
    ];
    const outcomes = await Promise.all(
      wrong.map(async ([, offer]) => {
        const { handOff, ...rest } = await offer;
        const error = await host.call('offer', { handOff, ...rest }).then(
          () => 'proven',
          ({ code }) => code,
        );
        const { state } = await host.call('offerState', { handOff });
        return `${error} ${state}`;
      }),
    );
    expect(outcomes).toEqual(wrong.map(([code]) => `${code} unknown`));
    expect(await listed(host)).toEqual([]);
    expect(await files()).toEqual([]);
  });

  test('can be withdrawn while the origin hangs, and blocks no other call meanwhile', async () => {
    const host = await greeted();
    for (const fault of ['stall-header', 'stall-body']) {
      const good = await offerOf(origin.url('none', { seed: fault }));
      const { handOff } = good;
      const offered = host.call('offer', { ...good, url: origin.url(fault) });
      const failed = expect(offered).rejects.toEqual(failure('interrupted'));
      await until(async () => (await host.call('offerState', { handOff })).state === 'proving');
      await expect(host.call('commit', { handOff })).rejects.toEqual(failure('wrong-state'));
      await host.call('withdraw', { handOff });
      await failed;
      expect(await host.call('offerState', { handOff })).toEqual({ state: 'unknown' });
    }
    expect(await files()).toEqual([]);
  });

  test('withdrawn after it was taken leaves no file and no download', async () => {
    const host = await greeted();
    const offer = await offerOf(origin.url('none', { size: 4 * MB, seed: 'a' }));
    const gated = { ...offer, url: origin.url('gate~1r', { size: 4 * MB, seed: 'a' }) };
    await host.call('offer', gated);
    await host.call('commit', { handOff: gated.handOff });
    await until(async () => (await listed(host)).some(({ storedBytes }) => storedBytes > 0));
    await host.call('withdraw', { handOff: gated.handOff });
    expect(await listed(host)).toEqual([]);
    await until(async () => (await files()).length === 0);
  });
});

test('a discarded download is gone, with its file', async () => {
  const host = await greeted();
  const offer = await offerOf(origin.url('none'));
  await host.call('offer', offer);
  const { gid } = await host.call('commit', { handOff: offer.handOff });
  await complete(host, gid);
  await host.call('withdraw', { handOff: offer.handOff });
  await until(async () => (await files()).join() === 'file.bin');
  for (let i = 0; i < 2; i++) await host.call('discard', { gid });
  await becomes(() => files(), []);
  expect(await listed(host)).toEqual([]);
});

test('discarding a download keeps the browser’s own file, even one of the same name', async () => {
  const host = await greeted();
  const taken = async (seed: string) => {
    const offer = await offerOf(origin.url('none', { seed }), { fileName: `${seed}.bin` });
    await host.call('offer', offer);
    const { gid } = await host.call('commit', { handOff: offer.handOff });
    await complete(host, gid);
    return { gid, path: join(cli.downloads, `${seed}.bin`) };
  };
  const same = await taken('same');
  // The browser renames its own file to the name that it chose before.
  await copyFile(same.path, `${same.path}.crdownload`);
  await rename(`${same.path}.crdownload`, same.path);
  // Symbolic links in the path make no difference.
  await symlink(cli.downloads, join(folder.path, 'link'));
  const other = await taken('other');
  const gone = await taken('gone');
  const kept = join(folder.path, 'link', 'same.bin');
  for (const { gid } of [same, other]) {
    for (let i = 0; i < 2; i++) await host.call('discard', { gid, kept });
  }
  await host.call('discard', { gid: gone.gid, kept: join(cli.downloads, 'nothing.bin') });
  await until(async () => (await files()).join() === 'same.bin');
  expect(await listed(host)).toEqual([]);
});

describe('the daemon', () => {
  test('is started by hello, and outlives the host', async () => {
    await cli.kill();
    const host = start();
    await expect(host.call('list', { limit: 1 })).rejects.toEqual(failure('wrong-state'));
    await expect(host.call('hello', { version: 99, browser: 'x' })).rejects.toEqual(
      failure('bad-option'),
    );
    expect(await host.call('hello', { version: 1, browser: 'x' })).toEqual({
      version: 1,
      engine: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
    const pid = (await cli.pid()) as number;
    expect(await host.end()).toBe(0);
    expect(isAlive(pid)).toBe(true);
  });

  test('killed during a hand-off, forgets a proven offer and keeps a committed download', async () => {
    const host = await greeted();
    const url = origin.url('gate~2r', { size: 4 * MB, seed: 'k' });
    const offer = { ...(await offerOf(origin.url('none', { size: 4 * MB, seed: 'k' }))), url };
    const { handOff } = offer;
    await host.call('offer', offer);
    let ended = host.next('ended');
    await cli.kill();
    await ended;
    expect(await host.call('offerState', { handOff })).toEqual({ state: 'unknown' });
    await expect(host.call('commit', { handOff })).rejects.toEqual(failure('no-such-download'));
    await host.call('offer', offer);
    const { gid } = await host.call('commit', { handOff });
    ended = host.next('ended');
    await cli.kill();
    await ended;
    expect(await host.call('offerState', { handOff })).toEqual({ state: 'committed', gid });
    expect(await host.call('commit', { handOff })).toEqual({ gid });
    origin.openGate();
    await complete(host, gid);
    // The host started the daemon, whose downloads go to the user's own folder.
    expect(await digestOf('../Downloads/file.bin')).toBe(origin.digest(url));
    expect(await listed(host)).toHaveLength(1);
  });

  test('is seen again by a watching host, whichever process started it', async () => {
    const host = await greeted();
    await host.call('watch', { on: true });
    let changed = host.next('changed');
    await cli.json('add', origin.url('none'));
    await changed;
    const ended = host.next('ended');
    await cli.kill();
    await ended;
    changed = host.next('changed');
    await cli.startDaemon();
    await changed;
    expect(await listed(host)).toHaveLength(1);
  });
});

describe('downloads', () => {
  test('are added, paused, resumed, removed', async () => {
    const host = await greeted();
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
      until(async () => (await listed(host)).find((one) => one.gid === which)?.status === status);
    await is(lost, 'error');
    const newest = (await listed(host))[0];
    expect(newest).toMatchObject({ gid: lost, error: { code: 'origin-not-found' } });
    await is(gid, 'active');
    await host.call('command', { gid, command: 'pause' });
    await is(gid, 'paused');
    await host.call('command', { gid, command: 'resume' });
    origin.openGate();
    await is(gid, 'complete');
    expect(await digestOf('named.bin')).toBe(origin.digest(url));
    await host.call('command', { gid: lost, command: 'resume' });
    await is(lost, 'error');
    for (const one of [gid, lost]) await host.call('command', { gid: one, command: 'remove' });
    expect(await listed(host)).toEqual([]);
    // The trash folder exists until the daemon knows that nothing goes into it.
    await until(async () => (await files()).join() === 'named.bin');
    await expect(host.call('command', { gid, command: 'pause' })).rejects.toEqual(
      failure('no-such-download'),
    );
  });

  test('are opened by the system if they are complete and not programs', async () => {
    const opened = join(folder.path, 'opened');
    const bin = join(folder.path, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'xdg-open'), `#!/bin/sh\necho "$@" >> '${opened}'\n`);
    await chmod(join(bin, 'xdg-open'), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ':0' };
    const host = await greeted({ env });
    const add = async (name: string, fault = 'none') => {
      const links = [{ url: origin.url(fault, { name }), headers: {}, edges: [] }];
      return (await host.call('add', { links })).gids[0] as string;
    };
    const [film, program, never] = [await add('a.mkv'), await add('a.sh'), await add('b', 'gate')];
    await complete(host, film);
    await complete(host, program);
    const open = (gid: string) => host.call('command', { gid, command: 'open' });
    for (const refused of [program, never]) {
      await expect(open(refused)).rejects.toEqual(failure('wrong-state'));
    }
    await open(film);
    await host.call('command', { gid: program, command: 'show' });
    const lines = async () =>
      existsSync(opened) ? (await readFile(opened, 'utf8')).trim().split('\n').sort() : [];
    await until(async () => (await lines()).length === 2);
    expect(await lines()).toEqual([cli.downloads, join(cli.downloads, 'a.mkv')]);
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
    const host = start();
    const hello = frame({ id: 1000, type: 'hello', version: 1, browser: 'x' });
    for (const byte of hello) host.send(Buffer.of(byte));
    host.send(framed(Buffer.from('{"id": 1')));
    host.send(frame('hello'));
    host.send(framed(Buffer.alloc(MAX_FROM_BROWSER_BYTES + 1, 'x')));
    expect(await listed(host)).toEqual([]);
    expect(host.unread.map(({ code }) => code)).toEqual(['bad-option', 'bad-option', 'bad-option']);
    const strange = host.call('fly' as 'list', { limit: 1 });
    await expect(strange).rejects.toEqual(failure('bad-option'));
  });

  test('is with our extension only', async () => {
    const other = start({ args: ['chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/'] });
    await until(() => other.child.exitCode !== null);
    expect(other.child.exitCode).toBe(2);
    expect(other.events).toEqual([]);
    const firefox = await greeted({ args: ['/x/dev.millrace.host.json', 'millrace@millrace.dev'] });
    expect(await listed(firefox)).toEqual([]);
  });

  test('ends with standard input, even in the middle of a frame or an offer', async () => {
    const host = await greeted();
    const offer = await offerOf(origin.url('none', { seed: 's' }));
    host.call('offer', { ...offer, url: origin.url('stall-header') }).catch(() => {});
    const { handOff } = offer;
    await until(async () => (await host.call('offerState', { handOff })).state === 'proving');
    host.send(frame({ id: 1 }).subarray(0, 6));
    expect(await host.end()).toBe(0);
  });

  test('works through the program that "native-host install" registers', async () => {
    const profile = join(folder.path, "it's a profile");
    await cli.json('native-host', 'install', 'chromium', '--dir', profile);
    const manifest = join(profile, 'NativeMessagingHosts', 'dev.millrace.host.json');
    const { path } = JSON.parse(await readFile(manifest, 'utf8'));
    // The browser knows nothing of the state folder.
    const { MILLRACE_STATE: _, ...env } = cli.env;
    const host = new HostProcess({ env: env as Record<string, string>, program: [path] });
    hosts.push(host);
    await host.call('hello', { version: 1, browser: 'x' });
    const { browsers } = await cli.json<{ browsers: { state: string }[] }>(
      ...['native-host', 'status', 'chromium', '--dir', profile],
    );
    expect(browsers).toEqual([expect.objectContaining({ state: 'current' })]);
    await cli.json('native-host', 'uninstall', 'chromium', '--dir', profile);
    expect(existsSync(manifest)).toBe(false);
  });
});
