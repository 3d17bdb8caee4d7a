/**
 * A folder that is published and brought to many machines through a network of edges.
 * MILLRACE_SYNC_FULL=1 runs it at full size: 10,000 small files and three of 1 GiB to 8 machines.
 */

import { lstat, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { contentOf } from '../../fixtures/origins/content.ts';
import { freePorts, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { Cluster, racesOf } from '../../fixtures/programs/cluster.ts';
import { CliProcess, EdgeProcess } from '../../fixtures/programs/processes.ts';
import { apply, bytesOf, filesIn, published, SyncStage } from '../../fixtures/stages/sync-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;
/** Size of the test: 1 is full size, less is that fraction of it, and 0 is the small test. */
const SHARE = Number(process.env.MILLRACE_SYNC_FULL ?? 0);
const FULL = SHARE > 0;
const SMALL_FILES = FULL ? Math.round(10_000 * SHARE) : 200;
const LARGE_BYTES = FULL ? Math.round(1024 * SHARE) * MiB : 8 * MiB;
const MACHINES = FULL ? 8 : 3;
const CHUNK_BYTES = (FULL ? 512 : 128) * 1024;
const DEADLINE_MS = FULL ? 1_800_000 : 300_000;

const { afterAll, beforeAll, describe, test } = testsWhere(
  nginxOrComplain('synchronisation of folders'),
);
let stage: SyncStage;
let cluster: Cluster;
let edges: string[];

beforeAll(async () => {
  // Files are fresh for a year, so that no edge asks whether they have changed.
  stage = await SyncStage.start({ server: 'add_header Cache-Control "max-age=31536000";' });
  const ports = FULL ? await Promise.all([0, 1, 2, 3].map(() => freePorts())) : [];
  const named = ports.map((port) => [
    ...['--port', `${port}`, '--public-url', `http://127.0.0.1:${port}`],
  ]);
  cluster = await Cluster.start({
    nodes: 4,
    options: [
      ...['--allow-origin', '127.0.0.1', '--client-requests', '0', '--log-level', 'warn'],
      // Small chunks: a chunk that a busy machine fetches twice costs little.
      ...(FULL
        ? ['--cache-memory', '1500MiB']
        : ['--cache-memory', '64MiB', '--chunk-size', '128KiB']),
    ],
    // At full size the edges tell their public URLs.
    perNode: (index) => named[index] ?? [],
  });
  edges = cluster.nodes.flatMap(({ edge }) => ['--edge', edge.url]);
});

afterAll(async () => {
  await cluster?.stop();
  await stage?.stop();
});

const raced = () => racesOf(cluster.nodes.map(({ edge }) => edge));

/** Chunks that the edges have got whole from the origin. */
const fetched = () => cluster.sum((status) => status.fetches.origin?.all ?? 0);

/**
 * Checks that the edges have fetched the chunks of files once, and beyond that at most one for each
 * fetch that they raced and 5% for a peer that was not heard in time. Requests that their clients
 * left (a client that waits long asks a second edge) are not fetches: each may have cost the origin
 * a chunk.
 *
 * @param before races and fetches before
 */
async function expectSentOnce(
  paths: readonly string[],
  before: { races: number; fetches: number },
): Promise<void> {
  const sizes = await Promise.all(paths.map((path) => bytesOf([path])));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const chunks = sizes.reduce((sum, size) => sum + Math.ceil(size / CHUNK_BYTES), 0);
  const sent = await stage.sent();
  const races = (await raced()) - before.races;
  const fetches = (await fetched()) - before.fetches;
  process.stderr.write(
    `sync: the origin sent ${sent.bytes} bytes for ${bytes} in ${sent.requests} requests, ` +
      `${fetches} of them whole, for ${chunks} chunks; edges raced ${races}\n`,
  );
  expect(sent.bytes).toBeGreaterThanOrEqual(bytes);
  expect(fetches).toBeLessThanOrEqual(Math.ceil(chunks * 1.05) + races);
  const others = fetches - chunks + Math.max(0, sent.requests - fetches);
  expect(sent.bytes).toBeLessThanOrEqual(bytes + others * CHUNK_BYTES);
}

test(
  'a folder reaches many machines for its bytes once; then nothing moves; then one changed byte moves one file',
  async () => {
    const dir = stage.served('tree');
    for (let i = 0; i < SMALL_FILES; i++) {
      await stage.write(dir, `small/${i % 20}/file ${i}.txt`, 100 + ((i * 977) % 8000));
    }
    for (let i = 0; i < 3; i++) await stage.write(dir, `large/${i}.bin`, LARGE_BYTES);
    await stage.write(dir, 'bin/run', 3000, 'run', 0o755);
    await stage.write(dir, 'empty.txt', 0);
    expect(await stage.publish('tree')).toMatchObject({ code: 0 });
    const expected = await published(dir);
    const paths = Object.keys(expected);
    const files = paths.map((path) => join(dir, path));
    const list = join(dir, 'millrace-sync.json');
    const [bytes, manifest] = await Promise.all([bytesOf(files), bytesOf([list]), stage.sent()]);

    const machines = Array.from({ length: MACHINES }, (_, i) => stage.place(`machine-${i}`));
    const bring = (machine: string) => apply([stage.manifestUrl('tree'), machine, ...edges]);
    const earlier = { races: await raced(), fetches: await fetched() };
    const began = performance.now();
    const first = await Promise.all(machines.map(bring));
    const seconds = (performance.now() - began) / 1000;
    for (const applied of first) {
      expect(applied).toMatchObject({ fetched: paths.length, failed: [], unchanged: 0 });
    }
    process.stderr.write(
      `sync: ${paths.length} files, ${(bytes / MiB).toFixed(0)} MiB to ${MACHINES} machines in ` +
        `${seconds.toFixed(1)} s\n`,
    );
    await expectSentOnce([...files, list], earlier);
    for (const machine of machines) expect(await filesIn(machine)).toEqual(expected);

    const again = await Promise.all(machines.map(bring));
    const nothing = { fetched: 0, copied: 0, settled: 0, removed: 0, unchanged: paths.length };
    for (const applied of again) {
      // Only the manifest itself is fetched.
      expect(applied).toMatchObject({ ...nothing, receivedBytes: manifest });
    }
    const asked = await stage.sent();
    // An origin may still have sent, and nginx then notes, what edges raced before and left.
    const left = (await raced()) - earlier.races;
    expect(asked.bytes).toBeLessThanOrEqual(left * CHUNK_BYTES);
    expect(asked.requests).toBeLessThanOrEqual(MACHINES + left);

    // Length and time stay the same, and so does the entity tag that nginx derives from them.
    const changed = join(dir, 'small/3/file 3.txt');
    const { mtimeMs, size } = await lstat(changed);
    const body = await readFile(changed);
    body[17] = (body[17] as number) ^ 1;
    await writeFile(changed, body);
    await utimes(changed, mtimeMs / 1000, mtimeMs / 1000);
    expect(await stage.publish('tree')).toMatchObject({ code: 0 });
    const [later] = await Promise.all([bytesOf([list]), stage.sent()]);
    const beforeChange = { races: await raced(), fetches: await fetched() };
    const third = await Promise.all(machines.map(bring));
    for (const applied of third) {
      expect(applied).toMatchObject({ fetched: 1, unchanged: paths.length - 1 });
      expect(applied.receivedBytes).toBe(size + later);
    }
    await expectSentOnce([changed, list], beforeChange);
    const now = await published(dir);
    for (const machine of machines) {
      expect(await filesIn(machine)).toEqual(now);
      await rm(machine, { recursive: true });
    }
  },
  DEADLINE_MS,
);

describe('a stale copy in the caches of edges', () => {
  test('never reaches a client that knows the digest, for small or large files', async () => {
    const dir = stage.served('stale');
    const machine = stage.place('stale-machine');
    const sizes = { 'small.bin': 50_000, 'large.bin': 9 * MiB };
    const write = (version: string) =>
      Promise.all(
        Object.entries(sizes).map(([path, size]) => stage.write(dir, path, size, path + version)),
      );
    for (const version of ['1', '2', '3']) {
      // Other bytes under the same URLs, of the same length and time.
      await write(version);
      expect(await stage.publish('stale')).toMatchObject({ code: 0 });
      // Clients without the digest get the version that the edges take to be current.
      for (const path of Object.keys(sizes)) {
        for (const { edge } of cluster.nodes) {
          expect((await fetch(edge.prefixed(stage.url('stale') + path))).status).toBe(200);
        }
      }
      const applied = await apply([stage.manifestUrl('stale'), machine, '--edges-only', ...edges]);
      expect(applied).toMatchObject({ fetched: 2, failed: [] });
      expect(await filesIn(machine)).toEqual(await published(dir));
    }
  });
});

test('a killed run resumes, and fetches little again', async () => {
  const dir = stage.served('killed');
  for (let i = 0; i < 150; i++) await stage.write(dir, `f/${i}`, 20_000);
  await stage.write(dir, 'large', 96 * MiB);
  expect(await stage.publish('killed')).toMatchObject({ code: 0 });
  const bytes = 150 * 20_000 + 96 * MiB;
  const machine = stage.place('killed-machine');
  const args = ['sync', 'apply', stage.manifestUrl('killed'), machine, ...edges];
  for (const share of [0.1, 0.5]) {
    const run = new CliProcess(args);
    await until(async () => (await storedBytes(machine)) >= share * bytes);
    run.child.kill('SIGKILL');
    await run.result;
    // Every file under its final name is right.
    const expected = await published(dir);
    for (const [path, { sha256 }] of Object.entries(await filesIn(machine))) {
      if (!path.startsWith('.millrace-sync')) expect(sha256).toBe(expected[path]?.sha256);
    }
  }
  // Half is stored, and a fifth may be in pieces that the journal does not have yet. What the edges
  // sent does not count: kernels hold megabytes for each of 32 connections of a killed process.
  const last = await apply(args.slice(2));
  expect(last.receivedBytes).toBeLessThan(0.7 * bytes);
  expect(await filesIn(machine)).toEqual(await published(dir));
});

/** Returns the disk space that the files of a folder occupy, bytes; 0 if there is no folder. */
async function storedBytes(dir: string): Promise<number> {
  const items = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = items.filter((item) => item.isFile()).map((i) => join(i.parentPath, i.name));
  const sizes = paths.map((path) =>
    lstat(path).then(
      ({ blocks }) => blocks * 512,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

test('edges that limit requests are waited for; the origin is not asked instead', async () => {
  const dir = stage.served('limited');
  for (let i = 0; i < 12; i++) await stage.write(dir, `${i}`, 1000);
  expect(await stage.publish('limited')).toMatchObject({ code: 0 });
  const manifest = await bytesOf([join(dir, 'millrace-sync.json')]);
  // Five at once and then one per second: a machine that asks for all of them without a refusal
  // needs a second for each.
  const edge = await EdgeProcess.start([
    ...['--allow-origin', '127.0.0.1', '--client-requests', '1', '--log-level', 'warn'],
  ]);
  try {
    await stage.sent();
    await apply([stage.manifestUrl('limited'), stage.place('limited-machine'), '--edge', edge.url]);
    expect(await filesIn(stage.place('limited-machine'))).toEqual(await published(dir));
    const { bytes } = await stage.sent();
    const { bytes: counted, errors } = await edge.status();
    expect(errors['too-many-requests']).toBeGreaterThan(0);
    // Otherwise the origin would have been asked once for every refusal. It may have sent more to the
    // edge where that asked twice.
    const races = await racesOf([edge]);
    expect(bytes - counted.fromOrigins).toBeLessThanOrEqual(races * manifest);
  } finally {
    await edge.stop();
  }
});

test('edges with public URLs are asked for their own chunks, which saves all hops between nodes', async () => {
  const dir = stage.served('owned');
  for (let i = 0; i < 60; i++) await stage.write(dir, `${i}`, 3000);
  expect(await stage.publish('owned')).toMatchObject({ code: 0 });
  const network = await Cluster.start({
    nodes: 3,
    options: ['--allow-origin', '127.0.0.1', '--log-level', 'warn'],
    proxies: true,
    publicUrls: true,
  });
  try {
    const urls = network.nodes.map(({ proxy }) => `http://127.0.0.1:${proxy?.port}`);
    const edgesByName = urls.flatMap((url) => ['--edge', url]);
    // Every edge must know all the others first.
    for (const url of urls) await until(async () => (await healthyEdges(url)) === urls.length);
    await apply([stage.manifestUrl('owned'), stage.place('owned-machine'), ...edgesByName]);
    expect(await filesIn(stage.place('owned-machine'))).toEqual(await published(dir));
    // The manifest comes from its owner as well.
    expect(await network.sum(({ forwards }) => forwards.versions + forwards.all)).toBe(0);
  } finally {
    await network.stop();
  }
});

async function healthyEdges(edge: string): Promise<number> {
  const { edges: known } = (await (await fetch(`${edge}/-/edges`)).json()) as {
    edges: { healthy: boolean }[];
  };
  return known.filter(({ healthy }) => healthy).length;
}

test('without edges, or with an unreachable edge, files come from the origin', async () => {
  const dir = stage.served('direct');
  await stage.write(dir, 'a/b.txt', 1000);
  await writeFile(join(dir, 'odd % name #1?.txt'), contentOf('odd', 500));
  await stage.write(dir, 'large', 5 * MiB);
  expect(await stage.publish('direct')).toMatchObject({ code: 0 });
  for (const [i, edge] of [[], ['--edge', 'http://127.0.0.1:9']].entries()) {
    const machine = stage.place(`direct-${i}`);
    const more = ['--retry-for', '2s'];
    await apply([stage.manifestUrl('direct'), machine, ...edge, ...more]);
    expect(await filesIn(machine)).toEqual(await published(dir));
  }
});
