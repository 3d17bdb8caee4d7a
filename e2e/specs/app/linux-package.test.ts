/**
 * The package for Debian: its contents, and its life on a machine, from installation by dpkg to
 * purge. It is installed over a layer in memory, which the machine itself does not see.
 */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { VERSION } from '@millrace/shared/base/version';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { callDaemonOf } from '../../fixtures/programs/daemon.ts';
import { HostProcess } from '../../fixtures/programs/native-host.ts';
import {
  NOBODY,
  PrivateRoot,
  privateRootOrComplain,
} from '../../fixtures/programs/private-root.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { ROOT } from '../../fixtures/tools/repository.ts';
import { until } from '../../fixtures/until.ts';

const run = promisify(execFile);
const MB = 1_000_000;
const NEWER = '9.9.9';

const { test, beforeAll, afterAll } = testsWhere(
  privateRootOrComplain('the package for Debian and Ubuntu'),
);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FaultOrigin;
let inside: PrivateRoot;
/** The package by its version. */
const debs = new Map<string, string>();

async function makeDebs(...versions: string[]): Promise<void> {
  const flags = ['--out', folder.path, '--compression', 'none'];
  const named = versions.flatMap((version) => ['--version', version]);
  const command = [join(ROOT, 'scripts/package.mjs'), 'deb', ...flags, ...named];
  const { stdout } = await run(process.execPath, command);
  const paths = [...stdout.matchAll(/\S+\.deb$/gm)].map(([path]) => path);
  for (const [i, version] of versions.entries()) debs.set(version, paths[i] as string);
}

beforeAll(async () => {
  folder = await temporaryFolder();
  origin = await FaultOrigin.start();
  await makeDebs(VERSION, NEWER);
  inside = await PrivateRoot.open();
});

afterAll(async () => {
  await inside.close();
  await origin.stop();
  await folder.remove();
});

test('the package has all by which a system finds the programs, and its users’ settings are marked', async () => {
  const deb = debs.get(VERSION) as string;
  const { stdout } = await run('dpkg-deb', ['--contents', deb], { maxBuffer: 2 ** 24 });
  const lines = stdout.trim().split('\n');
  for (const line of lines) expect(line).toMatch(/^[d-]r[w-][x-]r-[x-]r-[x-] root\/root /);
  const paths = lines.map((line) => line.split(' ').at(-1)?.slice(1));
  expect(paths).toEqual(
    expect.arrayContaining([
      '/usr/bin/millrace',
      '/usr/lib/millrace/node',
      '/usr/lib/millrace/node_modules/koffi/index.js',
      '/usr/lib/systemd/user/millrace.service',
      '/usr/share/applications/millrace.desktop',
      '/usr/share/bash-completion/completions/millrace',
      '/usr/share/doc/millrace/changelog.gz',
      '/usr/share/doc/millrace/copyright',
      '/usr/share/fish/vendor_completions.d/millrace.fish',
      '/usr/share/icons/hicolor/256x256/apps/millrace.png',
      '/usr/share/lintian/overrides/millrace',
      '/usr/share/man/man1/millrace.1.gz',
      '/usr/share/metainfo/dev.millrace.app.metainfo.xml',
      '/usr/share/mime/packages/millrace.xml',
      '/usr/share/zsh/vendor-completions/_millrace',
    ]),
  );
  const { stdout: editable } = await run('dpkg-deb', ['--info', deb, 'conffiles']);
  expect(editable.trim().split('\n').sort()).toEqual(
    paths.filter((path) => path?.startsWith('/etc/') && path.endsWith('.json')).sort(),
  );
});

/** Installs the package of a version; nothing has to survive a power cut. */
const install = (version: string) =>
  inside.run(['dpkg', '--force-unsafe-io', '--install', debs.get(version) as string]);

test('installed, it downloads; an upgrade keeps queue and history; a purge leaves nothing', async () => {
  await install(VERSION);
  // A user who may write nowhere but at home.
  const home = await mkdtemp(join(tmpdir(), 'millrace-test-home-'));
  const state = join(home, '.local', 'state', 'millrace');
  await run('chown', ['-R', `${NOBODY}:${NOBODY}`, home]);
  const env = { HOME: home, MILLRACE_DAEMON_PORT: '0', NO_COLOR: '1' };
  const millrace = (...words: string[]) =>
    inside.run(['/usr/bin/millrace', ...words], { env, uid: NOBODY });
  try {
    expect((await millrace('--version')).trim()).toBe(VERSION);
    const one = origin.url('none', { size: 4 * MB });
    const got = join(home, 'got.bin');
    await millrace('get', one, '-o', got, '--checksum', `sha-256=${origin.digest(one)}`);
    expect(sha256(await readFile(got))).toBe(origin.digest(one));
    await inside.run([
      '/bin/bash',
      '-c',
      '. /usr/share/bash-completion/completions/millrace && complete -p millrace',
    ]);

    // The browser finds the host by the manifest, and the host starts the daemon.
    const manifest = JSON.parse(
      await inside.run(['cat', '/etc/chromium/native-messaging-hosts/dev.millrace.host.json']),
    );
    const host = await HostProcess.greeted({
      env,
      program: inside.command([manifest.path], NOBODY),
    });
    const gated = origin.url('gate', { size: 4 * MB, name: 'gated' });
    const listed = () =>
      callDaemonOf(state, 'list', { limit: 9 }).then(({ downloads }) => downloads);
    const statuses = async () => (await listed()).map(({ status }) => status).sort();
    for (const [url, now] of [
      [one, 'complete'],
      [gated, 'active,complete'],
    ] as const) {
      await host.call('add', { links: [{ url, headers: {}, edges: [] }] });
      await until(async () => String(await statuses()) === now);
    }
    await host.end();
    const before = (await callDaemonOf(state, 'info', {})).pid;

    await install(NEWER);
    // Another daemon runs, as the same user, in place of the one whose program is gone.
    await until(async () => {
      const info = await callDaemonOf(state, 'info', {}).catch(() => undefined);
      return info !== undefined && info.pid !== before;
    });
    const user = await inside.run(['stat', '-c', '%u', join(state, 'daemon.json')]);
    expect(Number(user)).toBe(NOBODY);
    expect(await listed()).toHaveLength(2);
    origin.openGate();
    await until(async () => String(await statuses()) === 'complete,complete');
    const saved = join(home, 'Downloads', 'gated');
    expect(sha256(await readFile(saved))).toBe(origin.digest(gated));

    await inside.run(['dpkg', '--purge', 'millrace']);
    await expect(callDaemonOf(state, 'info', {})).rejects.toThrow();
    const left = (await inside.changed()).filter((path) => /millrace/.test(path));
    expect(left).toEqual([]);
    // Downloads and history are the user's.
    expect(sha256(await readFile(saved))).toBe(origin.digest(gated));
    expect(await readFile(join(state, 'downloads.db'))).not.toHaveLength(0);
  } finally {
    await run('rm', ['-rf', home]);
  }
});
