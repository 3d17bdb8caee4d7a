/**
 * Edges in the same house: an edge announces itself on the local network, and downloads of another
 * machine find it there. The machines are network namespaces at one hub; the origin has a public address.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { CLI, DAEMON, EDGE } from '../../fixtures/programs/main-files.ts';
import { Namespace, namespacesOrComplain } from '../../fixtures/programs/namespace.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const { afterAll, afterEach, beforeAll, test } = testsWhere(
  namespacesOrComplain('edges in the same house'),
);

const ORIGIN = fileURLToPath(new URL('../../fixtures/house/origin.ts', import.meta.url));
const NEIGHBOURS = fileURLToPath(new URL('../../fixtures/house/neighbours.ts', import.meta.url));
const CALL = fileURLToPath(new URL('../../fixtures/house/call.ts', import.meta.url));
/** Address of the origin: edges ask only public ones. */
const PUBLIC = '8.8.4.4';
const [NAME, LENGTH] = ['house', 8_000_000];
const DIGEST = sha256(contentOf(NAME, LENGTH));
const CHECKSUM = ['--checksum', `sha-256=${DIGEST}`];

/** A request to a bad neighbour. */
interface Request {
  readonly kind: string;
  readonly url: string;
  /** Bytes that it asks for; 0 for no range. */
  readonly bytes: number;
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
/** The machines: the origin's, two neighbours', and the user's. */
let far: Namespace;
let attic: Namespace;
let cellar: Namespace;
let desk: Namespace;
/** URL of the file, and of the port by which the test asks the origin. */
let url: string;
let control: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  [far, attic, cellar, desk] = Array.from({ length: 4 }, () => new Namespace()) as [
    ...[Namespace, Namespace, Namespace, Namespace],
  ];
  far.addAddress(`${PUBLIC}/32`);
  for (const machine of [attic, cellar, desk]) {
    machine.addAddress('192.0.2.77/32'); // with it the machine has a loopback
    machine.addRoute(PUBLIC, far.insideAddress);
  }
  const origin = far.spawn(process.execPath, [ORIGIN, NAME, String(LENGTH)]);
  const [files = 0, own = 0] = JSON.parse(await firstLine(origin)) as number[];
  url = `http://${PUBLIC}:${files}/file.bin`;
  control = `http://${far.insideAddress}:${own}`;
});

afterEach(async () => {
  await Promise.all([attic.killAll(), cellar.killAll(), desk.killAll()]);
});

afterAll(async () => {
  for (const machine of [far, attic, cellar, desk]) machine?.remove();
  await folder?.remove();
});

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = await once(createInterface({ input: child.stdout as Readable }), 'line');
  return line as string;
}

/** Sets the pace of the origin. @returns bytes that it has sent so far, and its entity tag */
async function origin(pace: 'pace' | 'free'): Promise<{ sentBytes: number; etag: string }> {
  return (await fetch(`${control}/${pace}`)).json() as Promise<{ sentBytes: number; etag: string }>;
}

/** Starts an edge in the attic. */
async function startEdge(...options: string[]): Promise<ChildProcess> {
  const listens = ['--host', '0.0.0.0', '--port', '3125', '--allow-origin', '*'];
  const edge = attic.spawn(process.execPath, [EDGE, ...listens, ...options]);
  await firstLine(edge);
  return edge;
}

/** Starts bad neighbours. @returns what they have been asked for, which grows */
async function startNeighbours(machine: Namespace, ...kinds: string[]): Promise<Request[]> {
  const { etag } = await origin('free');
  const args = [NEIGHBOURS, NAME, String(LENGTH), etag, ...kinds];
  const child = machine.spawn(process.execPath, args);
  const asked: Request[] = [];
  const lines = createInterface({ input: child.stdout as Readable });
  lines.on('line', (line) => asked.push(JSON.parse(line) as Request));
  return asked;
}

/** Runs the command line at the desk. @param onOutput called with all of its output so far */
async function run(args: readonly string[], onOutput: (all: string) => void = () => {}) {
  const env = [`MILLRACE_STATE=${join(folder.path, 'state')}`, `HOME=${folder.path}`, 'NO_COLOR=1'];
  const child = desk.spawn('env', [...env, process.execPath, CLI, ...args]);
  let stdout = '';
  child.stdout?.on('data', (data) => {
    stdout += data;
    onOutput(stdout);
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, stdout };
}

/**
 * Downloads a file at the desk with edges of the house, from an origin with a pace.
 *
 * @param enough says, by the output so far, that the origin may send the rest at once
 * @returns its digest, and what was said
 */
async function get(link: string, options: readonly string[], enough?: (all: string) => boolean) {
  await origin('pace');
  const dir = await mkdtemp(join(folder.path, 'get-'));
  const place = ['--dir', dir, '--output', 'it'];
  const args = ['get', '--house', '--json', ...place, link, ...options];
  const ran = await run(args, (all) => {
    if (enough?.(all) === true) void origin('free');
  });
  const bytes = await readFile(join(dir, 'it')).catch(() => Buffer.alloc(0));
  return { ...ran, digest: sha256(bytes) };
}

async function houseEdges(): Promise<{ url: string }[]> {
  const { stdout } = await run(['edges', '--house', '--json']);
  return (JSON.parse(stdout) as { edges: { url: string }[] }).edges;
}

/** Tells whether somebody of a kind was asked for much of the file. */
const brought = (asked: readonly Request[], wanted: string) =>
  asked.some(({ kind, bytes }) => kind === wanted && bytes > 100_000);

test('an edge of the house is found and brings most of a file, until it says goodbye', async () => {
  const edge = await startEdge('--announce', 'yes');
  const own = `http://${attic.insideAddress}:3125`;
  await origin('free');
  const warms = fetch(`${own}/${url}`).then((answer) => answer.arrayBuffer());
  // On a busy machine an answer may take longer than the command looks for edges.
  await until(async () => {
    const found = await houseEdges();
    if (found.length > 0) expect(found).toMatchObject([{ url: own, rttMs: expect.any(Number) }]);
    return found.length > 0;
  });
  expect(sha256(Buffer.from(await warms))).toBe(DIGEST);
  const before = await origin('pace');
  expect(await get(url, CHECKSUM)).toMatchObject({ code: 0, digest: DIGEST });
  const { sentBytes } = await origin('free');
  expect(sentBytes - before.sentBytes).toBeLessThan(LENGTH / 2);
  edge.kill();
  await once(edge, 'exit');
  expect(await houseEdges()).toEqual([]);
});

test('edges that lie, refuse or die cost a download no wrong byte', async () => {
  const bad = ['wrong bytes', 'stale', 'refuses', 'dies'];
  const asked = await startNeighbours(cellar, ...bad);
  const got = await get(url, CHECKSUM, () => brought(asked, 'wrong bytes'));
  expect(got).toMatchObject({ code: 0, digest: DIGEST });
  // The liar ends the part of all of them; one that is found only then is asked for nothing.
  const files = asked.filter((one) => one.url.endsWith('/file.bin'));
  expect(files.map(({ kind }) => kind)).toContain('wrong bytes');
  expect(got.stdout).toContain('"note":"house-was-wrong"');
});

test('a neighbour that does not answer as an edge learns of no file, and none leads elsewhere', async () => {
  const kinds = ['no edge', 'leads elsewhere at once', 'endless', 'honest'];
  const asked = await startNeighbours(cellar, ...kinds);
  const astray = await startNeighbours(attic, 'leads elsewhere');
  const got = await get(
    url,
    CHECKSUM,
    (all) =>
      all.includes('leads to 127.0.0.1') &&
      new Set(asked.map(({ kind }) => kind)).size === kinds.length &&
      brought(asked, 'honest'),
  );
  expect(got).toMatchObject({ code: 0, digest: DIGEST });
  const told = [...asked, ...astray].filter((one) => one.url !== '/-/live');
  expect([...new Set(told.map(({ kind }) => kind))].sort()).toEqual(['honest', 'leads elsewhere']);
});

test('neighbours learn of no file that is not for all, or that nothing proves', async () => {
  const asked = await startNeighbours(cellar, 'honest');
  const isLeftOut = (all: string) => all.includes('"note":"house-not-asked"');
  const told = new Set<string>();
  const gets: [link: string, options: readonly string[]][] = [
    [url.replace('/file.bin', '/private.bin'), CHECKSUM],
    [`${url}?X-Amz-Signature=0123456789abcdef0123456789abcdef`, CHECKSUM],
    [url, [...CHECKSUM, '--header', 'X-Token: 1']],
    [url, []],
  ];
  const results = await Promise.all(
    gets.map(([link, options]) =>
      get(link, options, (all) => {
        if (isLeftOut(all)) told.add(`${link} ${options}`);
        return told.size === gets.length;
      }),
    ),
  );
  for (const got of results) {
    expect(got).toMatchObject({ code: 0, digest: DIGEST });
    expect(isLeftOut(got.stdout)).toBe(true);
  }
  expect(asked.map((one) => one.url).filter((path) => path !== '/-/live')).toEqual([]);
});

test('a daemon finds edges while the setting is on, and uses them for its downloads', async () => {
  const state = join(folder.path, 'daemon');
  const dir = await mkdtemp(join(folder.path, 'downloads-'));
  const options = ['--state', state, '--dir', dir, '--port', '0'];
  const line = await firstLine(desk.spawn(process.execPath, [DAEMON, ...options]));
  const rpc = / on (http:\S+)$/.exec(line)?.[1] ?? '';
  const token = (await readFile(join(state, 'daemon-token'), 'utf8')).trim();
  const caller = desk.spawn(process.execPath, [CALL, rpc], 'pipe');
  const answers = createInterface({ input: caller.stdout as Readable })[Symbol.asyncIterator]();
  const call = async (name: string, given: object) => {
    const [method, params] = [`millrace.${name}`, [`token:${token}`, given]];
    caller.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`);
    const { result, error } = JSON.parse((await answers.next()).value as string);
    expect(error).toBeUndefined();
    return result;
  };
  await startNeighbours(cellar, 'honest');
  expect(await call('houseEdges', {})).toEqual({ looks: false, edges: [] });
  await call('setSettings', { house: true });
  await until(async () => (await call('houseEdges', {})).edges.length === 1);
  await origin('pace');
  const digests = [{ algorithm: 'sha256', hex: DIGEST }];
  const { gid } = await call('add', { urls: [url], useEdges: true, digests });
  await until(async () => {
    const { sources } = await call('sources', { gid });
    return sources.some(
      (one: { kind: string; receivedBytes: number }) =>
        one.kind === 'house' && one.receivedBytes > 100_000,
    );
  });
  await origin('free');
  await until(async () => (await call('status', { gid })).status === 'complete');
  expect(sha256(await readFile(join(dir, 'file.bin')))).toBe(DIGEST);
  await call('setSettings', { house: false });
  expect(await call('houseEdges', {})).toEqual({ looks: false, edges: [] });
});
