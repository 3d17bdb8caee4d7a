/**
 * `npm run bench -- push [--hosts N] [--files N]`: `sync push` of a folder of many small files to
 * hosts with a real sshd (Debian: openssh-server), each in a network namespace. Checks that every
 * host has every file, and that the origin sends everything once. Needs Linux and root.
 */

import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { closeHub, openHub } from '../fixtures/hub.mjs';
import { Namespace } from '../fixtures/programs/namespace.ts';
import { EdgeProcess, runCli } from '../fixtures/programs/processes.ts';
import { filesIn, SyncStage } from '../fixtures/stages/sync-stage.ts';

const SSHD = '/usr/sbin/sshd';
/** Port of each host's sshd; every host has an address of its own. */
const PORT = 2222;
/** Smallest file, and the steps between the sizes, bytes. */
const [SMALLEST, SIZES] = [200, 7919];
const FILES_IN_A_FOLDER = 100;

/** Measures pushes. @returns the exit status: 0 if every host had the right files */
export async function push(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      hosts: { type: 'string', default: '8' },
      files: { type: 'string', default: '10000' },
    },
  });
  const [hosts, files] = [Number(values.hosts), Number(values.files)];
  if (!(hosts >= 1 && hosts <= 200 && files >= 1))
    throw new Error('--hosts and --files are numbers');
  const hub = openHub();
  if (hub === undefined || spawnSync(SSHD, ['-?']).error !== undefined) {
    process.stdout.write('NOT MEASURED: needs Linux, root and sshd (Debian: openssh-server)\n');
    return 1;
  }
  await using running = new AsyncDisposableStack();
  running.defer(() => closeHub(hub.name));
  process.env.MILLRACE_TEST_HUB = `${hub.name} ${hub.net}`;
  const stage = await SyncStage.start({ server: 'add_header Cache-Control "max-age=31536000";' });
  running.defer(() => stage.stop());
  const edge = await EdgeProcess.start(
    [
      ...['--allow-origin', '127.0.0.1', '--client-requests', '0', '--log-level', 'warn'],
      ...['--host', `${hub.net}.1`],
    ],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  running.defer(() => edge.stop().then(() => undefined));

  process.stderr.write(`Writing ${files} files ...\n`);
  const dir = stage.served('site');
  for (let i = 0; i < files; i++) {
    const folder = Math.floor(i / FILES_IN_A_FOLDER);
    await stage.write(dir, `d${folder}/file ${i}`, SMALLEST + ((i * 31) % SIZES));
  }
  const published = await stage.publish('site');
  if (published.code !== 0) throw new Error(published.stderr);
  const machines = await Machines.start(stage.place('hosts'), hosts, running);
  const targets = machines.names.map((name) => `${name}:${stage.place(`${name} site`)}`);
  const command = [
    ...['sync', 'push', join(dir, 'millrace-sync.json'), ...targets],
    ...['--edge', edge.url, '--edges-only', '--ssh', machines.ssh, '--json'],
  ];
  const expected = JSON.stringify(await digests(dir));
  await stage.sent();
  const lines: string[] = [];
  let right = true;
  for (const what of ['first push', 'push without changes']) {
    const startedAt = performance.now();
    const { code, stdout, stderr } = await runCli(command);
    const seconds = (performance.now() - startedAt) / 1000;
    const sent = await stage.sent();
    const script = (await lstat(join(dir, 'millrace-sync.sh'))).size;
    const content = Object.values(await sizes(dir)).reduce((sum, size) => sum + size, 0);
    const share = sent.bytes / (content + script);
    lines.push(
      `${what}: ${seconds.toFixed(1)} s, exit status ${code}, the origin sent ` +
        `${sent.bytes} bytes in ${sent.requests} requests, ${share.toFixed(3)} times the files and the script`,
    );
    if (code !== 0) lines.push(stderr);
    const { hosts: results } = JSON.parse(stdout) as { hosts: readonly Record<string, unknown>[] };
    for (const { host, status, fetched, unchanged, ms, why } of results) {
      lines.push(
        `  ${host}: status ${status}, ${fetched} fetched, ${unchanged} unchanged, ${ms} ms ${why}`,
      );
    }
    right &&= code === 0;
  }
  for (const name of machines.names) {
    const same = JSON.stringify(await digests(stage.place(`${name} site`))) === expected;
    if (!same) lines.push(`WRONG FILES at ${name}`);
    right &&= same;
  }
  process.stdout.write(`${lines.join('\n')}\n`);
  return right ? 0 : 1;
}

/** Digests of a folder's files by path, without those that a push adds. */
async function digests(dir: string): Promise<(readonly [string, string])[]> {
  const files = Object.entries(await filesIn(dir));
  return files
    .filter(([path]) => !path.startsWith('millrace-sync.'))
    .map(([path, { sha256 }]) => [path, sha256] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

async function sizes(dir: string): Promise<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const [path] of await digests(dir)) all[path] = (await lstat(join(dir, path))).size;
  return all;
}

/** Hosts with an sshd each, for one key. */
class Machines {
  readonly names: readonly string[];
  /** Command that reaches them by their names. */
  readonly ssh: string;

  private constructor(names: readonly string[], ssh: string) {
    this.names = names;
    this.ssh = ssh;
  }

  static async start(
    folder: string,
    count: number,
    running: AsyncDisposableStack,
  ): Promise<Machines> {
    await mkdir(folder);
    await mkdir('/run/sshd', { recursive: true });
    for (const name of ['host', 'user']) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
    }
    await copyFile(join(folder, 'user.pub'), join(folder, 'authorized'));
    const names: string[] = [];
    const config: string[] = [];
    const addresses = new Set<string>();
    while (names.length < count) {
      const machine = new Namespace();
      // A namespace draws its address.
      if (addresses.has(machine.insideAddress)) {
        machine.remove();
        continue;
      }
      running.defer(() => machine.remove());
      addresses.add(machine.insideAddress);
      const name = `host${names.length + 1}`;
      const options = [
        ...['PidFile=none', 'UsePAM=no', 'StrictModes=no', 'PasswordAuthentication=no'],
        ...['PermitRootLogin=yes', `AuthorizedKeysFile=${join(folder, 'authorized')}`],
      ];
      const sshd = machine.spawn(SSHD, [
        ...['-D', '-e', '-f', '/dev/null', '-p', `${PORT}`, '-h', join(folder, 'host')],
        ...options.flatMap((option) => ['-o', option]),
      ]);
      await listening(sshd);
      names.push(name);
      config.push(`Host ${name}\n  HostName ${machine.insideAddress}`);
    }
    const path = join(folder, 'config');
    const all = [
      ...[`Port ${PORT}`, 'User root', `IdentityFile ${join(folder, 'user')}`, 'BatchMode yes'],
      ...['StrictHostKeyChecking no', 'UserKnownHostsFile /dev/null', 'LogLevel ERROR'],
    ];
    await writeFile(path, `${config.join('\n')}\nHost *\n  ${all.join('\n  ')}\n`);
    return new Machines(names, `ssh -T -F '${path}'`);
  }
}

async function listening(sshd: ChildProcess): Promise<void> {
  const said: string[] = [];
  const lines = createInterface({ input: sshd.stderr as NodeJS.ReadableStream });
  const heard = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      said.push(line);
      if (line.startsWith('Server listening')) resolve();
    });
  });
  const ended = once(sshd, 'exit').then(() => {
    throw new Error(`sshd did not start: ${said.join(' ')}`);
  });
  await Promise.race([heard, ended]);
  ended.catch(() => {});
}
