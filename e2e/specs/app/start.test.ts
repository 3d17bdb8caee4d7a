/** `npm start`: an edge for this user, and downloads through it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { MethodName, ParamsOf } from '@millrace/shared/bridge/contract/contract';
import { type Answer, agreed } from '@millrace/shared/testing/agreed';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { NAMES_FOR_NODE, named } from '../../fixtures/origins/public-names.ts';
import { runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const START = fileURLToPath(new URL('../../../desktop/cli/launch/start.ts', import.meta.url));
const origin = await FaultOrigin.start();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let environment: Record<string, string>;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await temporaryFolder();
  environment = {
    MILLRACE_STATE: join(folder.path, 'state'),
    MILLRACE_EDGE_PORT: '0',
    // The usual port may go to a daemon of another test as soon as this one has ended.
    MILLRACE_DAEMON_PORT: '0',
    HOME: folder.path,
    // Without a screen no window opens on the screen of the person who runs the tests.
    DISPLAY: '',
    WAYLAND_DISPLAY: '',
  };
  origin.reset();
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await folder.remove();
});

afterAll(() => origin.stop());

function start(
  args: string[],
  env: Record<string, string> = environment,
  options: { detached?: boolean } = {},
): ChildProcess {
  const child = spawn(process.execPath, [START, ...args], {
    ...options,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  return child;
}

async function outputOf(
  child: ChildProcess,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (data) => {
    stdout += data;
  });
  child.stderr?.on('data', (data) => {
    stderr += data;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

const isOfEdge = ({ headers }: { headers: object }) => 'via' in headers;

/** Returns the address that a starting edge prints. */
async function addressOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const url = /runs at (http:\S+)/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('the edge did not start');
}

/** Runs `npm start` without a screen, and waits until it is up. */
async function startApp(env: Record<string, string> = environment) {
  const child = start([], env);
  const lines: string[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) =>
    lines.push(line),
  );
  const said = (what: RegExp) => until(() => lines.some((line) => what.test(line)));
  await said(/Ctrl-C/);
  const text = lines.join('\n');
  const page = /(http:\S+)\/#code=/.exec(text)?.[1] as string;
  const edge = /runs at (http:\S+)/.exec(text)?.[1] as string;
  const state = join(folder.path, 'state');
  const token = (await readFile(join(state, 'daemon-token'), 'utf8')).trim();
  const call = async <M extends MethodName>(method: M, params: ParamsOf<M>): Promise<Answer<M>> => {
    const answer = await fetch(`${page}/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [`token:${token}`, params] }),
    });
    return agreed(method, ((await answer.json()) as { result: unknown }).result);
  };
  return { child, said, page, edge, state, call };
}

test('without arguments: an edge on loopback that fetches nothing from this machine', async () => {
  const child = start([]);
  const url = await addressOf(child);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  // The edge fetches nothing from this machine, not even for its own user.
  expect((await fetchAll(`${url}/${origin.url('none')}`)).status).toBe(403);
  child.kill('SIGTERM');
  expect((await once(child, 'exit'))[0]).toBe(0);
});

test('without a screen: the app is a page whose address logs in', async () => {
  const child = start([]);
  let said = '';
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    said += `${line}\n`;
    if (line.includes('Ctrl-C')) break;
  }
  expect(said).toMatch(/The app is a page in your browser, as there is no screen:/);
  const [, page, code] = /(http:\S+\/)#code=(\S+)/.exec(said) as RegExpExecArray;
  expect((await fetch(page as string)).headers.get('content-type')).toMatch(/^text\/html/);
  const session = await fetch(new URL('/session', page), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  expect(session.status).toBe(204);
  // The app ends with `npm start`.
  child.kill('SIGTERM');
  expect((await once(child, 'exit'))[0]).toBe(0);
  await expect(fetch(page as string)).rejects.toThrow();
});

test('a daemon or an edge that is killed is started again, and its downloads continue', async () => {
  const { child, said, page, call, edge, state } = await startApp();
  const url = origin.url('none', { name: 'killed.bin', seed: 'killed' });
  const before = await call('millrace.info', {});
  const { gid } = await call('millrace.add', { urls: [url] });
  process.kill(before.pid, 'SIGKILL');
  await said(/The daemon, which downloads, has ended unexpectedly \(SIGKILL\)\. Starting it again/);
  await said(/The daemon runs again, and its downloads continue\./);
  // The daemon has the same address, so that an open page finds it.
  expect((await call('millrace.info', {})).pid).not.toBe(before.pid);
  await until(async () => (await call('millrace.status', { gid })).status === 'complete');
  const { pid } = JSON.parse(await readFile(join(state, 'edge.json'), 'utf8')) as { pid: number };
  process.kill(pid, 'SIGKILL');
  await said(/The edge runs again\./);
  expect((await fetch(`${edge}/-/status`)).status).toBe(200);
  child.kill('SIGTERM');
  expect((await once(child, 'exit'))[0]).toBe(0);
  await expect(fetch(page)).rejects.toThrow();
});

/** Lets edges fetch from this machine, which they refuse by default. */
const allowed = { MILLRACE_EDGE_ALLOW_ORIGIN: '127.0.0.1, files.example' };

test('get: a download starts an edge of its own if none runs', async () => {
  const file = join(folder.path, 'file');
  const options = ['--edges-only', '-o', file];
  const child = start(['get', origin.url('none'), ...options], { ...environment, ...allowed });
  const { code, stdout } = await outputOf(child);
  expect(code).toBe(0);
  expect(stdout).toMatch(/via http:\/\/127\.0\.0\.1/);
  expect(sha256(await readFile(file))).toBe(origin.digest(origin.url('none')));
  expect(origin.requests.every(isOfEdge)).toBe(true);
});

test('get: Ctrl-C, which reaches every process of the group, leaves a file that can be resumed', async () => {
  const url = origin.url('none', { size: 8_000_000, seed: 'group' });
  // At this rate the download outlasts the test on any machine.
  const options = ['-d', folder.path, '--limit', '100K'];
  const child = start(['get', url, ...options], environment, { detached: true });
  const output = outputOf(child);
  await until(async () => {
    const names = await readdir(folder.path);
    return names.includes('file.bin.millrace-journal') && origin.sentBytes > 0;
  });
  process.kill(-(child.pid as number), 'SIGINT');
  const { code, stderr } = await output;
  expect(code).toBe(130);
  expect(stderr).toMatch(/Interrupted[\s\S]*same command/);
  expect(await readdir(folder.path)).toContain('file.bin.millrace-part');
});

describe('files in the user’s own network', () => {
  const HERE = [
    ['at an address', (url: string) => url],
    ['under a local name', (url: string) => named(url, 'localhost')],
    ['under a name like any other', (url: string) => named(url)],
  ] as const;
  const url = origin.url('none', { seed: 'home' });
  const digest = origin.digest(url);
  let own: Record<string, string>;
  let file: string;
  beforeEach(() => {
    own = { ...environment, ...NAMES_FOR_NODE };
    file = join(folder.path, 'file');
  });

  test.each(HERE)('%s: get connects to it directly, and reports no error', async (_where, at) => {
    const child = start(['get', at(url), '-o', file], own);
    expect(await outputOf(child)).toMatchObject({ code: 0, stderr: '' });
    expect(sha256(await readFile(file))).toBe(digest);
    expect(origin.requests.some(isOfEdge)).toBe(false);
  });

  test.each(HERE)('%s: no edge fetches the file, not even for its own user', async (_where, at) => {
    const child = start(['get', at(url), '--edges-only', '-o', file], own);
    const { code, stderr } = await outputOf(child);
    expect([code, stderr]).toEqual([4, expect.stringContaining('private')]);
    expect(origin.requests).toEqual([]);
  });

  test.each(HERE)('%s: the app fetches the file directly', async (_where, at) => {
    const { call } = await startApp(own);
    const [dir, name] = [folder.path, 'file'];
    const asked = { urls: [at(url)], dir, file: name, useEdges: true };
    const { gid } = await call('millrace.add', asked);
    await until(async () => {
      const { status } = await call('millrace.status', { gid });
      expect(status).not.toBe('error');
      return status === 'complete';
    });
    expect(sha256(await readFile(file))).toBe(digest);
    expect(origin.requests.some(isOfEdge)).toBe(false);
  });

  test('the edge fetches what its user has listed, and an edge elsewhere is not even asked', async () => {
    const { edge } = await startApp({ ...own, ...allowed });
    const get = (...options: string[]) => runCli(['get', named(url), '-o', file, ...options], own);
    expect(await get('--edge', edge, '--edges-only')).toMatchObject({ code: 0 });
    expect(sha256(await readFile(file))).toBe(digest);
    expect(origin.requests.every(isOfEdge)).toBe(true);
    origin.reset();
    const elsewhere = await get('--edge', 'http://9.9.9.9:3125', '--overwrite');
    expect([elsewhere.code, elsewhere.stderr]).toEqual([0, '']);
    expect(elsewhere.stdout).toMatch(/edges are not used.*private network/);
    expect(origin.requests.some(isOfEdge)).toBe(false);
  });
});

test('get: the launcher’s own edge, which the user has not set up, is not in the notes', async () => {
  const url = `${origin.url('none', { seed: 'token' })}&token=0123456789abcdef0123456789abcdef`;
  const child = start(['get', url, '-o', join(folder.path, 'file')]);
  const { code, stdout } = await outputOf(child);
  expect([code, stdout]).toEqual([0, expect.not.stringMatching(/edges/)]);
  expect(origin.requests.some(isOfEdge)).toBe(false);
});

test('get: works even if another program has the port', async () => {
  const squatter = createServer((socket) => socket.end('not an edge')).listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  const { port } = squatter.address() as { port: number };
  const file = join(folder.path, 'file');
  const env = { ...environment, MILLRACE_EDGE_PORT: String(port) };
  const { code } = await outputOf(start(['get', origin.url('none'), '-o', file], env));
  squatter.close();
  expect(code).toBe(0);
  expect(sha256(await readFile(file))).toBe(origin.digest(origin.url('none')));
});

test('get: the exit status is that of the download', async () => {
  const child = start(['get', origin.url('gone'), '-o', join(folder.path, 'file')]);
  expect((await outputOf(child)).code).toBe(4);
});

test.each([
  [['--help'], /^ {2}npm start {2,}the app.*\n.*npm start -- get URL/],
  [['-h'], /npm start -- get URL/],
  [['--version'], /^\d+\.\d+\.\d+\S*\n$/],
  [['-V'], /^\d+\.\d+\.\d+\S*\n$/],
  [['get', '--help'], /^Usage: millrace get/],
  [['get', '--version'], /^\d+\.\d+\.\d+\S*\n$/],
])('%j is answered on standard output, and starts nothing', async (words, text) => {
  const { code, stdout, stderr } = await outputOf(start(words));
  expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(text)]);
});

test('any other command is refused with the usage', async () => {
  const child = start(['gte', 'x']);
  let stderr = '';
  child.stderr?.on('data', (data) => {
    stderr += data;
  });
  expect((await outputOf(child)).code).toBe(2);
  expect(stderr).toMatch(/npm start -- get URL/);
});
