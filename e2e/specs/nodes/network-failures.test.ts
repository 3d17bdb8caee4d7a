/** Nodes that die, hang, lie, leave and come back: the effect on clients of the other nodes. */

import { expect } from '@jest/globals';
import { hashText, rank } from '@millrace/shared/cdn/routing/hrw';
import { crowd } from '../../fixtures/clients/crowd.ts';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { NginxFiles, type OriginFile } from '../../fixtures/origins/nginx-files.ts';
import {
  Cluster,
  type ClusterOptions,
  type Node,
  racesOf,
  usablePeers,
} from '../../fixtures/programs/cluster.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;
const CHUNK = 128 * 1024;
const FILE_BYTES = 8 * MiB;
const OPTIONS = [
  ...['--allow-origin', '127.0.0.1', '--chunk-size', '128KiB'],
  ...['--cache-memory', '32MiB', '--log-level', 'warn'],
];

const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  nginxOrComplain('failures in networks of edges'),
);
let files: NginxFiles;
/** A network that loses a node in nearly every test, down to the last one. */
let shrinking: Cluster;
/** The network of a single test. */
let cluster: Cluster | undefined;

beforeAll(async () => {
  files = await NginxFiles.start();
  shrinking = await Cluster.start({ nodes: 8, options: OPTIONS });
});

afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

afterAll(async () => {
  await shrinking?.stop();
  await files?.stop();
});

async function start(nodes: number, more: Partial<ClusterOptions> = {}): Promise<Cluster> {
  cluster = await Cluster.start({ nodes, options: OPTIONS, ...more });
  return cluster;
}

/** Returns the share (0 to 1) of a file's bytes that a node owns among these nodes. */
function shareOf(node: Node, nodes: readonly Node[], { url, content }: OriginFile): number {
  const all = nodes.map(({ name }) => ({ name, seed: hashText(name), weight: 1 }));
  let bytes = 0;
  for (let start = 0; start < content.length; start += CHUNK) {
    const owner = rank(`${url},start=${start}`, all, 1)[0];
    if (owner?.name === node.name) bytes += Math.min(CHUNK, content.length - start);
  }
  return bytes / content.length;
}

/** Clients of a crowd: three at each node of eight but the victim. */
const CLIENTS = 21;

/**
 * Starts a crowd at all nodes but the victim, and calls `happen` when each client has a quarter of
 * the file: what its connection holds besides is not the whole of the rest.
 */
function crowdAround(network: Cluster, victim: Node, file: OriginFile, happen: () => void) {
  const others = network.nodes.filter((node) => node !== victim);
  const urls = others.map(({ edge }) => edge.prefixed(file.url));
  return crowd(urls, CLIENTS, { atBytes: file.content.length / 4, happen });
}

describe('in the middle of a crowd', () => {
  test('a node hangs: the others route around it', async () => {
    const network = shrinking;
    const file = await files.make(FILE_BYTES);
    const victim = network.node(2);
    const { outcomes } = await crowdAround(network, victim, file, () => {
      victim.edge.child.kill('SIGSTOP');
    });
    expect(outcomes).toEqual({ [`200 ${file.digest}`]: CLIENTS });
    // The nodes may have had all of its chunks before: that they use it no more shows surely that it hung.
    for (const { edge, name } of network.nodes) {
      if (name === victim.name) continue;
      await until(async () => !(await usablePeers(edge)).includes(victim.name));
    }
    // The node wakes up and rejoins the network.
    victim.edge.child.kill('SIGCONT');
    await network.ready();
    expect((await fetchAll(victim.edge.prefixed(file.url))).digest).toBe(file.digest);
  });

  test('an orderly shutdown of a node harms no client', async () => {
    const network = shrinking;
    const file = await files.make(FILE_BYTES);
    const leaving = network.node(2);
    const { outcomes } = await crowdAround(network, leaving, file, () => {
      leaving.edge.child.kill('SIGTERM');
    });
    expect(outcomes).toEqual({ [`200 ${file.digest}`]: CLIENTS });
    network.forget(leaving);
    await network.ready();
  });

  test('a node is killed: no client notices, and the origin sends again only the chunks of that node', async () => {
    const network = shrinking;
    const file = await files.make(FILE_BYTES);
    const victim = network.node(2);
    const share = shareOf(victim, network.nodes, file);
    const survivors = network.nodes.filter((node) => node !== victim);
    const edges = survivors.map(({ edge }) => edge);
    const before = await racesOf(edges);
    const { outcomes } = await crowdAround(network, victim, file, () => {
      victim.edge.child.kill('SIGKILL');
    });
    expect(outcomes).toEqual({ [`200 ${file.digest}`]: CLIENTS });
    const copies = await files.copiesOf(file);
    // On a busy machine a forward to a living node may fail as well: its asker goes to the origin.
    const races = (await racesOf(edges)) - before;
    expect(share).toBeGreaterThan(0);
    expect(copies).toBeLessThanOrEqual(1 + share + (races * CHUNK) / FILE_BYTES);
    network.forget(victim);
    await network.ready();
  });
});

describe('a node that alters chunks', () => {
  test('is found out and isolated; no client gets a wrong byte', async () => {
    const network = await start(4, { proxies: true });
    const file = await files.make(FILE_BYTES);
    const liar = network.node(2);
    if (liar.proxy !== undefined) liar.proxy.corrupt = true;
    const asking = network.nodes.filter((node) => node !== liar);
    for (const { edge } of asking) {
      const got = await fetchAll(edge.prefixed(file.url));
      expect([got.status, got.complete, got.digest]).toEqual([200, true, file.digest]);
    }
    const isolating = await Promise.all(
      asking.map(async ({ edge }) => (await edge.status()).peers.some((p) => p.isolated)),
    );
    expect(isolating).toContain(true);
    await until(() => asking.some(({ edge }) => edge.log.join().includes('damaged chunk')));
    // No other node has kept an altered chunk either.
    for (const { edge } of asking) {
      expect((await fetchAll(edge.prefixed(file.url))).digest).toBe(file.digest);
    }
  });
});

describe('nodes that come and go', () => {
  test('when all peers are gone a node works alone', async () => {
    const network = shrinking;
    const file = await files.make(FILE_BYTES);
    const [last, ...others] = network.nodes as [Node, ...Node[]];
    expect((await fetchAll(last.edge.prefixed(file.url))).digest).toBe(file.digest);
    for (const node of others) {
      await node.edge.stop('SIGKILL');
      network.forget(node);
    }
    expect((await fetchAll(last.edge.prefixed(file.url))).digest).toBe(file.digest);
    await until(async () => (await usablePeers(last.edge)).length === 0);
    expect((await fetchAll(last.edge.prefixed(file.url))).digest).toBe(file.digest);
  });

  test('a node that was killed and comes back is used again', async () => {
    const network = await start(3, { proxies: true });
    const node = network.node(1);
    await node.edge.stop('SIGKILL');
    const others = network.nodes.filter((other) => other !== node);
    for (const { edge } of others) {
      await until(async () => (await usablePeers(edge)).length === 1);
    }
    await network.add(node);
    await network.ready();
    const file = await files.make(4 * MiB);
    const edges = network.nodes.map(({ edge }) => edge);
    const before = await racesOf(edges);
    for (const edge of edges) {
      expect((await fetchAll(edge.prefixed(file.url))).digest).toBe(file.digest);
    }
    const sent = await files.sent();
    const races = (await racesOf(edges)) - before;
    expect(sent).toBeGreaterThanOrEqual(file.content.length);
    expect(sent).toBeLessThanOrEqual(file.content.length + races * CHUNK);
  });
});

describe('policies', () => {
  test('a closed node uses others and serves none; a node of an organisation serves only its own', async () => {
    const policies = [
      ['--peer-policy', 'closed', '--org', 'acme'],
      ['--peer-policy', 'org:acme'],
      ['--org', 'acme'],
      [],
    ];
    cluster = await Cluster.start({
      nodes: 0,
      options: OPTIONS,
      perNode: (index) => policies[index] ?? [],
    });
    for (let i = 0; i < policies.length; i++) await cluster.add();
    const expected = [
      ['node-1', 'node-2', 'node-3'],
      ['node-2', 'node-3'],
      ['node-1', 'node-3'],
      ['node-2'],
    ];
    for (const [i, names] of expected.entries()) {
      const { edge } = cluster.node(i);
      await until(async () => (await edge.status()).peers.length === 3);
      await until(async () => (await usablePeers(edge)).sort().join() === names.join());
    }
    const file = await files.make(2 * MiB);
    for (const { edge } of cluster.nodes) {
      expect((await fetchAll(edge.prefixed(file.url))).digest).toBe(file.digest);
    }
    expect((await cluster.node(0).edge.status()).inside.requests).toBe(0);
  });
});
