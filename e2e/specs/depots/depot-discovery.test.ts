/** Depots that a network's edges name to whoever needs room, and uploads that use them. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { askDepot, DepotStage, OWNER_TOKEN, reserve } from '../../fixtures/stages/depot-stage.ts';
import { becomes, until } from '../../fixtures/until.ts';

const MIB = 1024 * 1024;
const clusters: Cluster[] = [];
// Before the stage deletes its folder.
afterAll(async () => {
  for (const cluster of clusters) await cluster.stop();
});

const stage = await DepotStage.set();
const secretFile = join(stage.folder, 'secret');
await writeFile(secretFile, 'secret-of-the-network-of-tests-0123456789\n');
// The last depot knows other owners.
const strangers = join(stage.folder, 'strangers');
await writeFile(strangers, `bob sha256:${sha256(Buffer.from('token-of-bob'))}\n`);
/** Quota and longest lease of each depot; the last node has none. */
const DEPOTS = [
  ['64MiB', '30d'],
  ['64MiB', '30d'],
  ['32MiB', '1d'],
] as const;
const cluster = await Cluster.start({
  nodes: 4,
  options: ['--secret-file', secretFile, '--client-requests', '0', '--status-age', '0'],
  perNode(i) {
    const [quota, longest] = DEPOTS[i] ?? [];
    if (quota === undefined || longest === undefined) return [];
    return [
      ...['--depot-dir', join(stage.folder, `depot-${i}`), '--depot-quota', quota],
      ...['--depot-owners-file', i === 2 ? strangers : stage.ownersFile, '--depot-max', longest],
    ];
  },
  proxies: true,
  publicUrls: true,
});
clusters.push(cluster);
const edges = cluster.nodes.map(({ edge }) => edge);
const urls = cluster.nodes.map(({ proxy }) => `http://127.0.0.1:${proxy?.port}`);
const [first] = edges as [(typeof edges)[number]];

/** Asks an edge for a list. @returns the entries by their names */
async function listed(query: string, edge = first) {
  const { status, body } = await askDepot('GET', `${edge.url}/-/edges?${query}`);
  expect(status).toBe(200);
  // biome-ignore lint/suspicious/noExplicitAny: a document of a program
  return new Map<string, any>(body.edges.map((one: { name: string }) => [one.name, one]));
}

/** Waits until a list names these: a node may be away for a moment on a busy machine. */
const lists = (query: string, ...names: readonly string[]) =>
  becomes(async () => [...(await listed(query)).keys()].sort(), names);

describe('the list of edges by need', () => {
  test('has the edges with room for so much for so long, and says what each still takes', async () => {
    const small = `bytes=${MIB}&seconds=3600`;
    await lists(small, 'node-0', 'node-1', 'node-2');
    for (const query of [`bytes=${MIB}&seconds=${7 * 86_400}`, `bytes=${48 * MIB}&seconds=60`]) {
      await lists(query, 'node-0', 'node-1');
    }
    // The edge that makes the list is the nearest to its client.
    expect([...(await listed(small)).keys()][0]).toBe('node-0');
    await becomes(
      async () => {
        const { url, healthy, depot } = (await listed(small)).get('node-2') ?? {};
        return { url, healthy, depot: [depot?.freeBytes, depot?.maxSeconds] };
      },
      { url: urls[2], healthy: true, depot: [32 * MIB, 86_400] },
    );
    // The usual list has every edge, as it always had.
    await becomes(async () => (await listed('')).size, 4);
  });

  test('knows of room that is taken, as soon as the depot has told of it', async () => {
    const { manage } = await reserve(edges[1] as typeof first, 40 * MIB);
    const query = `bytes=${30 * MIB}&seconds=60`;
    await lists(query, 'node-0', 'node-2');
    expect((await askDepot('DELETE', manage)).status).toBe(204);
    await until(async () => (await listed(query)).has('node-1'));
  });

  test('leads to the list of an edge that is named, and refuses what cannot be read', async () => {
    const at = (query: string) => askDepot('GET', `${first.url}/-/edges?${query}`);
    const near = await at('near=node-1&bytes=5&seconds=60');
    expect([near.status, near.headers.get('location')]).toEqual([
      307,
      `${urls[1]}/-/edges?bytes=5&seconds=60`,
    ]);
    const there = await askDepot('GET', near.headers.get('location') ?? '');
    expect(there.body.edges[0].name).toBe('node-1');
    expect((await at('near=node-0&bytes=5')).body.edges[0].name).toBe('node-0');
    for (const [query, detail] of [
      ['near=nobody', /near names no edge/i],
      ['bytes=many', /bytes must be a whole number/i],
      ['bytes=1&seconds=0', /seconds must be/i],
    ] as const) {
      const { status, body } = await at(query);
      expect([status, body.code]).toEqual([400, 'bad-request']);
      expect(body.detail).toMatch(detail);
    }
  });
});

describe('an upload that needs more depots than the user has named', () => {
  const content = contentOf('to be spread', 3 * MIB + 17);
  const file = join(stage.folder, 'talk.bin');
  const env = { MILLRACE_STATE: join(stage.folder, 'state') };
  /** Uploads to the depots that are found by way of the first one. */
  async function uploading(...options: string[]) {
    await writeFile(file, content);
    const named = ['--edge', first.url, '--token-file', stage.tokenFile, '--for', '1h'];
    const { code, stdout } = await runCli(['upload', file, ...named, '--json', ...options], env);
    const lines = stdout.split('\n').filter((line) => line !== '');
    return { code, events: lines.map((line) => JSON.parse(line)) };
  }
  // biome-ignore lint/suspicious/noExplicitAny: events of a program
  const of = (events: readonly any[], kind: string) => events.filter(({ event }) => event === kind);
  const used = async (i: number) => (await edges[i]?.status())?.admission.depotBytes?.use;

  test('stores copies at those that its network has, and passes over those that know no such owner', async () => {
    const output = join(stage.folder, 'found.exnode');
    const { code, events } = await uploading('--copies', '2', '-o', output);
    expect([code, of(events, 'depot-found')]).toMatchObject([
      0,
      [{ edge: urls[1], by: first.url }],
    ]);
    const { links, wholes } = of(events, 'done')[0];
    expect(wholes.map((link: string) => new URL(link).origin)).toEqual([urls[0], urls[1]]);
    // A replica that is lost gets a depot in the same way: the named one has the other replica.
    expect((await runCli(['trim', output, '--edge', urls[1] as string], env)).code).toBe(0);
    const augmenting = [
      ...['augment', output, '--copies', '2', '--edge', urls[0] as string],
      ...['--token-file', stage.tokenFile, '--json'],
    ];
    const again = await runCli(augmenting, env);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('"depot-found"')]);
    const [extent] = JSON.parse(await readFile(output, 'utf8')).extents;
    const reads = extent.shards[0].map(({ read }: { read: string }) => read);
    expect(reads.map((read: string) => new URL(read).origin).sort()).toEqual(
      [urls[0], urls[1]].sort(),
    );
    for (const link of reads) {
      expect(sha256(Buffer.from(await (await fetch(link)).arrayBuffer()))).toBe(sha256(content));
    }
    expect(links).toHaveLength(2);
    const { extents } = JSON.parse(await readFile(output, 'utf8'));
    expect(extents[0].shards[0]).toHaveLength(2);
  });

  test('is refused before a byte is stored if there are too few', async () => {
    const before = [await used(0), await used(1)];
    // The depot that is named is also in the list, at another address.
    const { code, events } = await uploading(
      '--copies',
      '3',
      '-o',
      join(stage.folder, 'no.exnode'),
    );
    expect([code, events.at(-1)]).toMatchObject([
      4,
      { code: 'too-few-depots', detail: expect.stringMatching(/takes 3 depots: 1 more is needed/) },
    ]);
    expect(of(events, 'edge-passed')).toMatchObject([
      { edge: urls[2], code: 'owner-token-required' },
    ]);
    expect([await used(0), await used(1)]).toEqual(before);
    // None has so much room for so long.
    const long = await uploading('--copies', '2', '--for', '31d', '--overwrite');
    expect([long.code, long.events.at(-1).code]).toEqual([4, 'too-few-depots']);
  });

  test('finds them for the app as well, which knows one depot', async () => {
    await writeFile(file, content);
    const daemon = await DaemonProcess.start(join(stage.folder, 'daemon'));
    try {
      await daemon.call('millrace.setDepot', { url: urls[0], name: 'own', token: OWNER_TOKEN });
      const { id } = await daemon.call('millrace.share', { path: file, seconds: 3600, copies: 2 });
      const shared = async () => {
        const { shares } = await daemon.call('millrace.shares');
        return shares.find((share: { id: string }) => share.id === id);
      };
      await until(async () => /shared|failed/.test((await shared())?.state ?? ''));
      const { state, places, link } = (await shared()) ?? {};
      const at = places?.map(({ depot }: { depot: string }) => depot).sort();
      expect([state, at]).toEqual(['shared', [urls[0], urls[1]].sort()]);
      expect(sha256(Buffer.from(await (await fetch(link ?? '')).arrayBuffer()))).toBe(
        sha256(content),
      );
    } finally {
      await daemon.stop();
    }
  });

  test('stores shards at those that it finds', async () => {
    const output = join(stage.folder, 'striped.exnode');
    const { code, events } = await uploading('--stripe', '1+1', '-o', output);
    expect([code, of(events, 'depot-found')]).toMatchObject([0, [{ edge: urls[1] }]]);
    const copy = join(stage.folder, 'copy.bin');
    const got = await runCli(['get', output, '-o', copy, '--quiet'], env);
    expect([got.code, sha256(await readFile(copy))]).toEqual([0, sha256(content)]);
  });
});
