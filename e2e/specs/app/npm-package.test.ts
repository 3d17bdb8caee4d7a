/**
 * The npm package works where npm has put it: without the project around it, without its
 * dependencies, and in plain JavaScript.
 */

import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VERSION } from '@millrace/shared/base/version';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import { HostProcess } from '../../fixtures/programs/native-host.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { ROOT } from '../../fixtures/tools/repository.ts';

const MAX_UNPACKED_BYTES = 15_000_000;
const BYTES = 3_000_000;

const run = promisify(execFile);
const body = contentOf('npm-package', BYTES);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: FileServer;
let url: string;
let daemon: DaemonCli;
let env: NodeJS.ProcessEnv;
/** Folder that the package was installed into. */
let installed: string;
/** Folder of the package itself. */
let unpacked: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  files = await FileServer.start();
  url = files.add('/file.bin', { body });
  daemon = new DaemonCli(folder.path);
  // The command's first line looks for Node on the path.
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  const { NODE_COMPILE_CACHE: _, ...around } = process.env;
  env = { ...around, ...daemon.env, PATH: path };
  installed = join(folder.path, 'installed');
  unpacked = join(installed, 'node_modules', 'millrace');
  const { stdout } = await run(process.execPath, [join(ROOT, 'scripts/package.mjs'), 'npm']);
  const archive = /\S+\.tgz$/m.exec(stdout)?.[0] as string;
  await mkdir(installed);
  await writeFile(join(installed, 'package.json'), '{}');
  // Without what npm may have in its cache, whatever the machine.
  const options = ['--offline', '--omit=optional', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...options, archive], { cwd: installed, env });
});

afterAll(async () => {
  await daemon.kill();
  await files.stop();
  await folder.remove();
});

/** Runs the installed command. @returns its standard output */
async function millrace(...args: string[]): Promise<string> {
  const command = join(installed, 'node_modules', '.bin', 'millrace');
  return (await run(command, args, { cwd: folder.path, env })).stdout;
}

test('the package is small, has no dependency, and holds neither sources nor paths of this machine', async () => {
  expect(await readdir(join(installed, 'node_modules'))).toEqual(
    expect.not.arrayContaining(['@node-rs', 'koffi']),
  );
  let bytes = 0;
  for (const entry of await readdir(unpacked, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    bytes += (await stat(path)).size;
    expect(path).not.toMatch(/\.(?:tsx?|map)$/);
    const text = await readFile(path, 'latin1');
    for (const own of [ROOT, join(homedir(), '/')])
      expect([path, text.includes(own)]).toEqual([path, false]);
    expect([path, /["'`]\.{1,2}\/[^"'`\s]*\.ts["'`]/.exec(text)?.[0]]).toEqual([path, undefined]);
  }
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(MAX_UNPACKED_BYTES);
});

test('the command is found by its name, tells its version, completes words, and keeps compiled code', async () => {
  const npx = await run('npx', ['--no-install', 'millrace', '--version'], { cwd: installed, env });
  expect(npx.stdout.trim()).toBe(VERSION);
  expect(await millrace('__complete', '--', 'edge', 'sta')).toMatch(/^start\b/m);
  expect(await readdir(join(daemon.state, 'compile-cache'))).not.toHaveLength(0);
});

test('an older Node is told which one is needed', async () => {
  const older = `Object.defineProperty(process.versions, 'node', { value: '20.1.0' });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
  const command = [...preload, join(unpacked, 'bin', 'millrace.mjs'), '--version'];
  await expect(run(process.execPath, command, { env })).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Millrace needs Node\.js \d+ or newer, and this is 20\.1\.0/),
  });
});

test('a download with a checksum and cookies arrives: the hashing thread and late libraries are there', async () => {
  const cookies = join(folder.path, 'cookies.txt');
  await writeFile(cookies, '127.0.0.1\tFALSE\t/\tFALSE\t0\tname\tvalue\n');
  const target = join(folder.path, 'got.bin');
  const checksum = `sha-256=${sha256(body)}`;
  await millrace('get', url, '-o', target, '--checksum', checksum, '--cookies', cookies);
  expect(sha256(await readFile(target))).toBe(sha256(body));
  expect(files.requests.at(-1)?.headers.cookie).toBe('name=value');
});

test('the command starts the daemon, which downloads, serves its page, and takes a native host', async () => {
  await millrace('daemon', '--detach', '--port', '0', '--dir', daemon.downloads);
  await millrace('add', url, '-o', 'daemon.bin');
  await millrace('watch', '--until-done');
  expect(sha256(await readFile(join(daemon.downloads, 'daemon.bin')))).toBe(sha256(body));

  const page = new URL('/', JSON.parse(await millrace('open', '--json')).url);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await (await fetch(page)).text())?.[1];
  const answer = await fetch(new URL(script as string, page));
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/script/),
  ]);
  await millrace('daemon', 'stop');

  // The host that browsers start finds the daemon's program beside itself.
  const program = [process.execPath, join(unpacked, 'lib', 'native-host.mjs')] as const;
  const host = await HostProcess.greeted({ env: daemon.env, program });
  expect((await host.call('list', { limit: 9 })).downloads).toHaveLength(1);
  expect(await host.end()).toBe(0);
});

test('the command runs an edge of two workers, which serves files and its page, and ends by a signal', async () => {
  const program = [join(unpacked, 'bin', 'millrace.mjs'), 'edge', 'start'];
  const options = ['--workers', '2', '--allow-origin', '127.0.0.1'];
  const edge = await EdgeProcess.start(options, daemon.env, program);
  try {
    const target = join(folder.path, 'through-edge.bin');
    await millrace('get', url, '--edge', edge.url, '--edges-only', '-o', target);
    expect(sha256(await readFile(target))).toBe(sha256(body));
    const status = await edge.status();
    expect(status.workers).toHaveLength(2);
    expect(status.bytes.fromOrigins).toBeGreaterThanOrEqual(BYTES);
    const page = await (await fetch(edge.url)).text();
    const assets = [...page.matchAll(/"(\/-\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
    expect(assets.length).toBeGreaterThan(3);
    for (const path of assets)
      expect([path, (await fetch(edge.url + path)).status]).toEqual([path, 200]);
  } finally {
    expect(await edge.stop()).toBe(0);
  }
});
