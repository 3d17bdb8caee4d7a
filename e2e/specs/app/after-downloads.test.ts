/** Actions after downloads, with real programs, full disks, and a daemon that is killed in between. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { AfterStep } from '@millrace/shared/download/after/after';
import { type OddEntry, oddTar, tarHeader } from '../../fixtures/faults/odd-tar.ts';
import { notTested, programOrComplain } from '../../fixtures/not-tested.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { openWindow } from '../../fixtures/pages/window.ts';
import { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import { DaemonCliStage } from '../../fixtures/stages/daemon-cli-stage.ts';
import { until } from '../../fixtures/until.ts';

const stage = await DaemonCliStage.set();
const files = await FileServer.start();
afterAll(() => files.stop());

type Choice = Readonly<Record<string, string | boolean>>;

/**
 * Starts a daemon that finds only these programs, each a path or the lines of a script.
 *
 * @param more variables of its environment
 */
async function daemonWith(
  programs: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const bin = join(stage.folder, 'bin');
  await mkdir(bin);
  for (const [name, program] of Object.entries(programs)) {
    if (program.startsWith('/')) await symlink(program, join(bin, name));
    else await writeFile(join(bin, name), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
  }
  stage.cli = new DaemonCli(stage.folder, { PATH: bin, DISPLAY: ':99', ...more });
  await stage.cli.startDaemon();
}

const pathOf = (name: string) =>
  execFileSync('sh', ['-c', 'command -v "$0"', name]).toString().trim();

/** Adds a download of these bytes. @returns its gid */
async function add(name: string, body: Buffer, after: Choice): Promise<string> {
  const url = files.add(`/${encodeURIComponent(name)}`, { body });
  const { gid } = await stage.cli.call('add', { urls: [url], after });
  return gid;
}

const stepsOf = async (gid: string): Promise<readonly AfterStep[]> =>
  (await stage.cli.call('status', { gid })).after ?? [];

/** Waits until all actions of a download have ended. */
async function ended(gid: string): Promise<readonly AfterStep[]> {
  const isEnd = ({ state }: AfterStep) => state !== 'running' && state !== 'waiting';
  await until(async () => {
    const steps = await stepsOf(gid);
    return steps.length > 0 && steps.every(isEnd);
  });
  expect(await stage.cli.call('status', { gid })).toMatchObject({ status: 'complete' });
  return stepsOf(gid);
}

const states = (steps: readonly AfterStep[]) =>
  steps.map(({ action, state }) => `${action} ${state}`);
const download = (...path: string[]) => join(stage.cli.downloads, ...path);

describe('archives of strangers', () => {
  const BOMB_BYTES = 1100 * 2 ** 20;
  const out = 'millrace-e2e-out';
  const file = (name: string): OddEntry => ({ name, body: Buffer.from(name) });
  const link = (name: string, target: string): OddEntry => ({ name, flag: '2', target });
  const ARCHIVES: Readonly<Record<string, readonly OddEntry[]>> = {
    symbolic: [link('l', `../../${out}`)],
    absolute: [link('l', `/tmp/${out}`)],
    through: [link('l', '.'), file(`l/../../${out}`)],
    below: [link('l', '.'), file('l/file')],
    hard: [{ name: 'h', flag: '1', target: '../hard.tar' }],
    dots: [file(`../${out}`)],
    root: [file(`/tmp/${out}`)],
    fifo: [{ name: 'p', flag: '6' }],
    device: [{ name: 'd', flag: '3' }],
    twice: [file('a'), file('a')],
    good: [{ name: 'top/src/', flag: '5' }, file('top/src/main'), link('top/link', 'src/main')],
  };

  /** Entries that a format cannot hold: bsdtar makes plain files of them. */
  const LACKS: Readonly<Record<string, readonly string[]>> = {
    zip: ['hard', 'fifo', 'device'],
    '7z': ['hard'],
  };

  /** Makes archives of the tars. */
  async function archivesAs(ending: string): Promise<Map<string, Buffer>> {
    const folder = join(stage.folder, 'made');
    await mkdir(folder, { recursive: true });
    const made = new Map<string, Buffer>();
    for (const [name, entries] of Object.entries(ARCHIVES)) {
      if (LACKS[ending]?.includes(name)) continue;
      const tar = join(folder, `${name}.tar`);
      const archive = join(folder, `${name}.${ending}`);
      await writeFile(tar, oddTar(entries));
      execFileSync('bsdtar', ['-a', '-P', '-c', '-f', archive, `@${tar}`]);
      made.set(name, await readFile(archive));
    }
    return made;
  }

  test.each([
    ['bsdtar', ['tar.xz', 'zip']],
    ['7zz', ['7z', 'tar.xz']],
  ])('read by %s write nothing outside of their folders', async (program, endings) => {
    if (!programOrComplain('bsdtar', 'extraction')) return;
    if (!programOrComplain(program, `extraction by ${program}`)) return;
    await daemonWith({ [program]: pathOf(program) });
    const made = new Map<string, Buffer>();
    for (const ending of endings) {
      for (const [name, body] of await archivesAs(ending)) made.set(`${name}.${ending}`, body);
    }
    // A tar whose only file is a gigabyte of zeros, packed to a megabyte.
    const head = tarHeader({ name: 'zeros', size: BOMB_BYTES });
    const zeros = gzipSync(Buffer.alloc(2 ** 20));
    const bomb = program === 'bsdtar' ? 'bomb.cpio' : 'bomb.tgz';
    made.set(bomb, Buffer.concat([gzipSync(head), ...Array(1100).fill(zeros)]));
    const gids = new Map<string, string>();
    for (const [name, body] of made) gids.set(name, await add(name, body, { extract: true }));
    const details: string[] = [];
    for (const [name, gid] of gids) {
      const [step] = await ended(gid);
      details.push(`${name} ${step?.state}: ${step?.detail}`);
    }
    // The second good archive gets another folder.
    const good = details.filter((line) => line.includes(' done: '));
    expect(good.map((line) => line.split(' done: ')[0])).toEqual(
      endings.map((ending) => `good.${ending}`),
    );
    expect(await readFile(download('good', 'link'), 'utf8')).toBe('top/src/main');
    expect(await readFile(download('good.1', 'link'), 'utf8')).toBe('top/src/main');
    const left = readdirSync(stage.cli.downloads)
      .filter((name) => !made.has(name))
      .sort();
    expect([left, existsSync(`/tmp/${out}`)]).toEqual([['good', 'good.1'], false]);
    expect(readdirSync(stage.folder).sort()).toEqual(['bin', 'downloads', 'made', 'state']);
  });
});

test('files are opened by xdg-open, those that could run are not, and its failure is told', async () => {
  const seen = join(stage.folder, 'seen');
  await daemonWith({
    'xdg-open': `echo "$#: $1" >> ${seen}; case "$1" in *.odd) exit 3;; esac`,
  });
  const film = await add("-a film; `x` $(y) 'z'.mkv", Buffer.from('film'), { open: true });
  expect(states(await ended(film))).toEqual(['open done']);
  const script = await add('x.sh', Buffer.from('exit'), { open: true });
  expect(states(await ended(script))).toEqual(['open skipped']);
  const odd = await add('x.odd', Buffer.from('odd'), { open: true });
  expect(await ended(odd)).toMatchObject([
    { state: 'failed', detail: 'xdg-open found no program for it (3)' },
  ]);
  const { path } = await stage.cli.call('status', { gid: film });
  expect((await readFile(seen, 'utf8')).split('\n')).toEqual([
    `1: ${path}`,
    `1: ${download('x.odd')}`,
    '',
  ]);
  expect((await stage.cli.run('info', odd)).stdout).toContain('xdg-open found no program');
});

test('a file moves to another disk as it is, and stays where it is if that disk is full', async () => {
  const disk = join(stage.folder, 'disk');
  await mkdir(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk]).status !== 0) {
    notTested('no small disk could be mounted', 'moves to another disk');
    return;
  }
  try {
    await stage.cli.startDaemon();
    const large = contentOf('large', 4 * 2 ** 20);
    const small = contentOf('small', 2 ** 20);
    const kept = await add('large.bin', large, { move: disk });
    const [step] = await ended(kept);
    expect([step?.state, step?.detail]).toEqual([
      'failed',
      expect.stringMatching(/no room .*\/disk/),
    ]);
    expect(sha256(await readFile(download('large.bin')))).toBe(sha256(large));
    expect(readdirSync(disk)).toEqual([]);
    const moved = await add('small.bin', small, { move: disk });
    expect(states(await ended(moved))).toEqual(['move done']);
    const path = join(disk, 'small.bin');
    expect((await stage.cli.call('status', { gid: moved })).path).toBe(path);
    expect(sha256(await readFile(path))).toBe(sha256(small));
    expect([readdirSync(disk), existsSync(download('small.bin'))]).toEqual([['small.bin'], false]);
    expect(statSync(path).dev).not.toBe(statSync(stage.cli.downloads).dev);
  } finally {
    await stage.cli.kill();
    spawnSync('umount', ['-l', disk]);
  }
});

describe('after the daemon was killed', () => {
  /** Kills the daemon once a file is there, and starts it again. */
  async function killedWhen(isBegun: () => boolean): Promise<void> {
    await until(isBegun);
    await stage.cli.kill();
    await stage.cli.startDaemon();
  }

  test('a command does not run again, which is said, and no file is opened after it', async () => {
    const pids = join(stage.folder, 'pids');
    const script = `require("fs").appendFileSync(process.argv[1], process.pid + "\\n"); setInterval(() => {}, 1000)`;
    await stage.cli.startDaemon();
    const words = ['--', process.execPath, '-e', script, pids];
    expect((await stage.cli.run('after', 'command', 'note', ...words)).code).toBe(0);
    const gid = await add('a.bin', Buffer.from('a'), { move: 'Sorted', run: 'note', open: true });
    await killedWhen(() => existsSync(pids));
    const steps = ['move done', 'run interrupted', 'open skipped'];
    expect(states(await ended(gid))).toEqual(steps);
    const { stdout } = await stage.cli.run('info', gid);
    expect(stdout).toContain('run=note interrupted');
    await stage.cli.kill();
    await stage.cli.startDaemon();
    expect(states(await ended(gid))).toEqual(steps);
    const [pid, ...others] = (await readFile(pids, 'utf8')).trim().split('\n').map(Number);
    expect(others).toEqual([]);
    process.kill(pid as number, 'SIGKILL');
  });

  test('a webhook gets its message again, with the same id', async () => {
    const ids: unknown[] = [];
    const server = createServer((request, response) => {
      ids.push(request.headers['webhook-id']);
      if (ids.length > 1) response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as { port: number };
      await stage.cli.startDaemon();
      await stage.cli.json('after', 'webhook', `http://127.0.0.1:${port}/`);
      const gid = await add('a.bin', Buffer.from('a'), { webhook: true });
      await killedWhen(() => ids.length === 1);
      expect(states(await ended(gid))).toEqual(['webhook done']);
      expect(ids).toEqual([ids[0], ids[0]]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('an archive is extracted anew, once, and nothing of the first time is left', async () => {
    if (!programOrComplain('bsdtar', 'extraction')) return;
    const pids = join(stage.folder, 'pids');
    const tar = pathOf('bsdtar');
    await daemonWith({
      bsdtar: `if [ -e ${pids} ]; then exec ${tar} "$@"; fi; echo $$ > ${pids}.new; /bin/mv ${pids}.new ${pids}; exec /bin/sleep 1000`,
    });
    const made = join(stage.folder, 'a.zip');
    await writeFile(join(stage.folder, 'inner'), 'inner');
    execFileSync('bsdtar', ['-a', '-c', '-f', made, '-C', stage.folder, 'inner']);
    const gid = await add('a.zip', await readFile(made), { extract: true });
    await killedWhen(() => existsSync(pids));
    expect(states(await ended(gid))).toEqual(['extract done']);
    expect(readdirSync(stage.cli.downloads).sort()).toEqual(['a', 'a.zip']);
    expect(await readFile(download('a', 'inner'), 'utf8')).toBe('inner');
    process.kill(Number(await readFile(pids, 'utf8')), 'SIGKILL');
  });
});

describe('when all is done', () => {
  /** Lets the clock of a daemon be set forward by more than the countdown: once a file is there. */
  const CLOCK = `import { existsSync } from 'node:fs';
    const now = Date.now;
    Date.now = () => now() + (existsSync(process.env.XDG_LATER) ? 61_000 : 0);`;
  const wish = () => stage.cli.call('whenDone');

  test('the machine is shut down after a countdown in which the page can stop it, and a refusal is shown', async () => {
    if (!browserOrComplain('the countdown to sleep and shutdown')) return;
    const later = join(stage.folder, 'later');
    const seen = join(stage.folder, 'seen');
    const clock = join(stage.folder, 'clock.mjs');
    await writeFile(clock, CLOCK);
    const refused = 'echo "Interactive authentication required." >&2; exit 1';
    await daemonWith(
      { systemctl: `echo "$*" >> ${seen}; ${refused}` },
      { XDG_LATER: later, NODE_OPTIONS: `--import ${clock}` },
    );
    const browser = await launchBrowser();
    try {
      const { page } = await openWindow(browser, /^$/, {});
      await page.goto((await stage.cli.call('loginLink')).url);
      const banner = page.getByRole('alert');

      // One download waits for another attempt when the other one is done.
      await stage.cli.call('whenDone', { what: 'sleep' });
      await page.getByRole('button', { name: 'Sleeps when all is done' }).waitFor();
      let isBusy = true;
      const urls = [
        files.add('/b', { body: Buffer.from('b'), refuse: () => (isBusy ? 503 : undefined) }),
      ];
      const { gid } = await stage.cli.call('add', { urls });
      await until(async () => (await stage.cli.call('status', { gid })).status === 'waiting');
      await add('a', Buffer.from('a'), {});
      await until(() => existsSync(download('a')));
      expect(await wish()).toEqual({ what: 'sleep' });
      isBusy = false;
      await stage.cli.call('retry', { gids: [gid] });
      await banner.getByText('The machine is about to sleep.').waitFor();
      await banner.getByRole('button', { name: 'Cancel' }).click();
      await banner.waitFor({ state: 'detached' });
      expect(await wish()).toEqual({ what: null });

      // The wish is forgotten with the daemon, and so is a countdown.
      await stage.cli.call('whenDone', { what: 'shutdown' });
      await add('c', Buffer.from('c'), {});
      await until(async () => (await wish()).at !== undefined);
      await stage.cli.kill();
      await stage.cli.startDaemon();
      await page.goto((await stage.cli.call('loginLink')).url);
      expect([await wish(), existsSync(seen)]).toEqual([{ what: null }, false]);

      await stage.cli.call('whenDone', { what: 'shutdown' });
      await add('d', Buffer.from('d'), {});
      await banner.getByText('The machine is about to shut down.').waitFor();
      await writeFile(later, '');
      // Any change lets the daemon look at its clock.
      await stage.cli.call('add', { urls, paused: true });
      await banner.getByText('Interactive authentication required.').waitFor();
      expect(await readFile(seen, 'utf8')).toBe('poweroff\n');
      await banner.getByRole('button', { name: 'Dismiss' }).click();
      await banner.waitFor({ state: 'detached' });
      expect(await wish()).toEqual({ what: null });
    } finally {
      await browser.close();
    }
  });
});
