/**
 * The packages for Debian and for Fedora's relatives: their contents, and their life on a machine, from
 * installation by dpkg and rpm to removal. They are installed over a layer in memory, which the machine
 * itself does not see.
 */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from '@jest/globals';
import { VERSION } from '@millrace/shared/base/version';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { programOrComplain } from '../../fixtures/not-tested.ts';
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

const available = privateRootOrComplain('the packages for Linux');
const { beforeAll, afterAll } = testsWhere(available);

/** Where rpm keeps its list of packages; Debian's would be in the home of root. */
const RPM_LIST = '/var/lib/rpm-of-the-test';
/** Debian's rpm wants to be told that the machine has no packages for it. */
const RPM = ['rpm', '--dbpath', RPM_LIST, '--force-debian', '--nodeps'];

/** A kind of package, and the commands of its users. */
const KINDS = {
  deb: {
    works: programOrComplain('dpkg-deb', 'the package for Debian and Ubuntu'),
    // Nothing has to survive a power cut.
    install: (file: string) => ['dpkg', '--force-unsafe-io', '--install', file],
    upgrade: (file: string) => ['dpkg', '--force-unsafe-io', '--install', file],
    remove: ['dpkg', '--purge', 'millrace'],
    list: (file: string) => ['dpkg-deb', '--contents', file],
    editable: (file: string) => ['dpkg-deb', '--info', file, 'conffiles'],
    own: [
      '/usr/share/doc/millrace/changelog.gz',
      '/usr/share/lintian/overrides/millrace',
      '/usr/share/zsh/vendor-completions/_millrace',
    ],
  },
  rpm: {
    works: programOrComplain('rpmbuild', 'the package for Fedora and openSUSE'),
    install: (file: string) => [...RPM, '--install', file],
    upgrade: (file: string) => [...RPM, '--upgrade', file],
    remove: ['rpm', '--dbpath', RPM_LIST, '--erase', 'millrace'],
    list: (file: string) => ['rpm', '-qp', '--qf', LINES, file],
    editable: (file: string) => ['rpm', '-qpc', file],
    own: ['/usr/share/zsh/site-functions/_millrace'],
  },
} as const;
type Kind = keyof typeof KINDS;

/** Lists the files of an rpm as dpkg-deb lists those of a deb. */
const LINES = '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} .%{FILENAMES}\n]';

/** Files of both kinds. */
const FILES = [
  '/usr/bin/millrace',
  '/usr/lib/millrace/node',
  '/usr/lib/millrace/node_modules/koffi/index.js',
  '/usr/lib/systemd/user/millrace.service',
  '/usr/share/applications/millrace.desktop',
  '/usr/share/bash-completion/completions/millrace',
  '/usr/share/doc/millrace/copyright',
  '/usr/share/fish/vendor_completions.d/millrace.fish',
  '/usr/share/icons/hicolor/256x256/apps/millrace.png',
  '/usr/share/man/man1/millrace.1.gz',
  '/usr/share/metainfo/dev.millrace.app.metainfo.xml',
  '/usr/share/mime/packages/millrace.xml',
];

const WORKING = (Object.keys(KINDS) as Kind[]).filter((kind) => available && KINDS[kind].works);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let inside: PrivateRoot;
/** The packages by kind and version. */
const packages = new Map<string, string>();

const packageOf = (kind: Kind, version: string) => packages.get(`${kind} ${version}`) as string;

/** Makes the packages of all kinds and versions at once, which share much of the work. */
async function makePackages(...versions: string[]): Promise<void> {
  const flags = ['--out', folder.path, '--compression', 'none'];
  const named = versions.flatMap((version) => ['--version', version]);
  const command = [join(ROOT, 'scripts/package.mjs'), ...WORKING, ...flags, ...named];
  const { stdout } = await run(process.execPath, command);
  const paths = [...stdout.matchAll(/\S+\.(?:deb|rpm)$/gm)].map(([path]) => path);
  for (const kind of WORKING) {
    const made = paths.filter((path) => path.endsWith(kind));
    for (const [i, version] of versions.entries())
      packages.set(`${kind} ${version}`, made[i] as string);
  }
}

beforeAll(async () => {
  folder = await temporaryFolder();
  await makePackages(VERSION, NEWER);
  inside = await PrivateRoot.open();
  await inside.run(['mkdir', RPM_LIST]);
});

afterAll(async () => {
  await inside?.close();
  await folder?.remove();
});

describe.each(Object.keys(KINDS) as Kind[])('the %s', (kind) => {
  const { test, beforeAll, afterAll } = testsWhere(WORKING.includes(kind));
  const commands = KINDS[kind];
  let origin: FaultOrigin;
  beforeAll(async () => {
    origin = await FaultOrigin.start();
  });
  afterAll(() => origin.stop());

  test('has all by which a system finds the programs, and its users’ settings are marked', async () => {
    const file = packageOf(kind, VERSION);
    const printed = async ([command, ...args]: readonly string[]) => {
      const { stdout } = await run(command as string, args, { maxBuffer: 2 ** 24 });
      return stdout.trim().split('\n');
    };
    const lines = await printed(commands.list(file));
    for (const line of lines) expect(line).toMatch(/^[d-]r[w-][x-]r-[x-]r-[x-] root\/root /);
    const paths = lines.map((line) => line.split(' ').at(-1)?.slice(1));
    expect(paths).toEqual(expect.arrayContaining([...FILES, ...commands.own]));
    expect((await printed(commands.editable(file))).sort()).toEqual(
      paths.filter((path) => path?.startsWith('/etc/') && path.endsWith('.json')).sort(),
    );
  });

  test('installed, it downloads; an upgrade keeps queue and history; a removal leaves nothing', async () => {
    await inside.run(commands.install(packageOf(kind, VERSION)));
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

      await inside.run(commands.upgrade(packageOf(kind, NEWER)));
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

      await inside.run(commands.remove);
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
});
