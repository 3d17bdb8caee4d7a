/**
 * Nodes that are killed, stopped, restarted and cut off from each other at random, while clients
 * keep fetching: every byte is right, nothing hangs, memory is bounded, and in the end the network
 * works as before.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { ChaosClient, type ChaosFile } from '../../fixtures/clients/chaos-client.ts';
import { ChaosNetwork } from '../../fixtures/clients/chaos-network.ts';
import { planChaos } from '../../fixtures/clients/chaos-plan.ts';
import { ChaosReport } from '../../fixtures/clients/chaos-report.ts';
import { openResponse } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { Nginx, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

const MiB = 1024 * 1024;
const NODES = 6;
const CLIENTS = 20;
/** Clients that read slowly, so that responses last through several events and windows are full. */
const SLOW_CLIENTS = 5;
const SLOW_BYTES_PER_SECOND = MiB / 2;
/**
 * Clients that read as fast as they can, so that nodes are under load when they fail. They rest
 * three times as long as they read: without rests they would take a processor from other specs.
 */
const EAGER_CLIENTS = 2;
const EAGER_REST = 3;
/**
 * Rate of the others. A disturbance meets the same number of responses at any rate; at full speed
 * they would only take the processor from other specs.
 */
const BYTES_PER_SECOND = 0.75 * MiB;
/** Cache of a node, in MiB. All nodes together cannot keep all files: chunks in use are evicted. */
const CACHE_MIB = 6;
/** Lengths of files. Two are longer than a client's window of 16 MiB. */
const FILE_BYTES = [
  ...[1, 100_000, 256 * 1024, MiB + 1, 3_000_000],
  ...[4 * MiB - 1, 6 * MiB, 8_000_000, 16 * MiB + 12_345, 20 * MiB],
];
/**
 * Most bytes of memory of a node: the cache, 16 MiB per client and 150 MB. Each client has one
 * window of 16 MiB, in the node that it asks. All chunks of that window may pass through one other
 * node, or come from its cache. So a node may have to hold the windows of all clients, and no more:
 * a client that has gone to another node leaves nothing behind.
 */
const MEMORY_BYTES = (CACHE_MIB + 16 * CLIENTS) * MiB + 150e6;
/** Length from which a file is long: the two that are longer than a window. */
const LONG_BYTES = 16 * MiB;
const OPTIONS = [
  ...['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB', '--log-level', 'warn'],
  ...['--cache-memory', `${CACHE_MIB}MiB`, '--grace', '2s'],
  // All clients have one address, and small files are many requests.
  ...['--client-requests', '0'],
];

const { afterAll, beforeAll, describe, test } = testsWhere(
  nginxOrComplain('chaos in networks of edges'),
);
const seed = testSeed('chaos test');
/** Seconds of chaos: enough for every kind of disturbance to come up twice; more for a night. */
const seconds = Number(process.env.MILLRACE_CHAOS_SECONDS ?? 120);
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let nginx: Nginx;
let cluster: Cluster | undefined;

beforeAll(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder.path, 'www'));
  nginx = await Nginx.start({ dir: join(folder.path, 'nginx'), root: join(folder.path, 'www') });
});

afterAll(async () => {
  await cluster?.stop();
  await nginx?.stop();
  await folder?.remove();
});

const isEager = (client: number) => client >= SLOW_CLIENTS && client < SLOW_CLIENTS + EAGER_CLIENTS;

function rateOf(client: number): number {
  if (client < SLOW_CLIENTS) return SLOW_BYTES_PER_SECOND;
  return isEager(client) ? Number.POSITIVE_INFINITY : BYTES_PER_SECOND;
}

async function makeFile(bytes: number): Promise<ChaosFile> {
  const name = `file-of-${bytes}.bin`;
  const content = contentOf(name, bytes);
  await writeFile(join(folder.path, 'www', name), content);
  const url = `${nginx.url}/${name}`;
  const response = await openResponse(url, { method: 'HEAD' });
  response.resume();
  return { url, content, digest: sha256(content), etag: String(response.headers.etag) };
}

describe(`${seconds} seconds of kills, stops, restarts and partitions, 20 clients`, () => {
  test(
    'no wrong byte, no hang, bounded memory, and a healthy network in the end',
    async () => {
      const report = new ChaosReport();
      const files = await Promise.all(FILE_BYTES.map(makeFile));
      cluster = await Cluster.start({ nodes: NODES, proxies: true, options: OPTIONS });
      const network = new ChaosNetwork(cluster, report);
      const events = planChaos(seededRandom(seed), NODES, seconds * 1000);
      const clients = Array.from(
        { length: CLIENTS },
        (_, i) =>
          new ChaosClient({
            network,
            files,
            report,
            random: seededRandom(seed + 1 + i),
            bytesPerSecond: rateOf(i),
            rest: isEager(i) ? EAGER_REST : 0,
          }),
      );
      await nginx.sent();

      let over = false;
      const fetching = Promise.all(clients.map((client) => client.run(() => over)));
      await network.run(events, seconds * 1000);
      over = true;
      await fetching;
      const peakMiB = (await network.peakBytes()) / MiB;
      const originMiB = (await nginx.sent()).bytes / MiB;
      process.stderr.write(
        `chaos: seed ${seed}, ${seconds} s, ${report}; origin sent ${originMiB.toFixed(0)} MiB, ` +
          `peak memory of a node ${peakMiB.toFixed(0)} MiB\n`,
      );
      expect(report.failures).toEqual([]);

      await network.settled();
      // Every node serves every file, and ten files at a time. The long ones come from a node each: of
      // all nodes, they would take longer than the chaos where other programs take the processor.
      await Promise.all(
        clients.slice(0, files.length).map(async (client, i) => {
          for (let step = 0; step < NODES; step++) {
            const index = (i + step) % files.length;
            const file = files[index] as ChaosFile;
            const isTurn = file.content.length < LONG_BYTES || step === index % NODES;
            if (isTurn) await client.mustGet(step, file);
          }
        }),
      );
      expect(report.failures).toEqual([]);
      await network.settled();
      expect(await network.peakBytes()).toBeLessThan(MEMORY_BYTES);
    },
    (seconds + 180) * 1000,
  );
});
