/** Nodes of a network that reach each other over TLS. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { LinkProxy } from '../../fixtures/clients/link-proxy.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { type CertificatePair, makeCertificate } from '../../fixtures/origins/certificate.ts';
import { ADMIN_TOKEN } from '../../fixtures/programs/admin-client.ts';
import { racesOf, usablePeers } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;

let origin: FaultOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let pair: CertificatePair;
const ending: (() => unknown)[] = [];

beforeAll(async () => {
  [origin, folder] = await Promise.all([FaultOrigin.start(), temporaryFolder()]);
  pair = makeCertificate(folder.path, 'first');
});

beforeEach(() => writeFile(join(folder.path, 'secret'), 'the secret of the network'));

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

afterAll(() => Promise.all([origin.stop(), folder.remove()]));

/** Starts an edge that ends with the test. */
async function start(...options: string[]): Promise<EdgeProcess> {
  const edge = await EdgeProcess.start(
    ['--tls-cert', pair.cert, '--tls-key', pair.key, '--allow-origin', '127.0.0.1', ...options],
    // Lets nodes trust each other's certificate.
    { NODE_EXTRA_CA_CERTS: pair.cert },
  );
  ending.push(() => edge.stop('SIGKILL'));
  return edge;
}

test('nodes reach each other, also to purge, on a port that redirects clients to TLS', async () => {
  const secret = join(folder.path, 'secret');
  const token = join(folder.path, 'admin-token');
  await writeFile(token, ADMIN_TOKEN);
  const common = ['--http-port', '0', '--http-answers', 'redirect', '--secret-file', secret];
  const one = await start(...common, '--name', 'one', '--admin-token-file', token);
  const seed = new URL(one.url).host;
  const two = await start(...common, '--name', 'two', '--peers', seed);
  // The status is redirected to TLS, so the test reads the metrics.
  await until(async () => {
    const metrics = await (await fetch(`${one.url}/-/metrics`)).text();
    return metrics.includes('millrace_peer_rtt_seconds{peer="two"}');
  });
  const { code, stdout } = await runCli(
    [
      ...['edge', 'purge', origin.url('none'), '--network', '--json'],
      ...['--edge', one.secureUrl, '--token-file', token],
    ],
    { NODE_EXTRA_CA_CERTS: pair.cert },
  );
  expect([code, stdout]).toEqual([0, expect.stringMatching(/"name": ?"two",[^}]*"ok": ?true/)]);
  expect(two.log.join('')).not.toMatch(/cannot be read/);
});

describe('nodes that reach each other over TLS', () => {
  async function startTwo(): Promise<EdgeProcess[]> {
    const nodes: EdgeProcess[] = [];
    const secret = join(folder.path, 'secret');
    const proxies = [await LinkProxy.start(), await LinkProxy.start()];
    ending.push(() => Promise.all(proxies.map((proxy) => proxy.stop())));
    for (const [index, proxy] of proxies.entries()) {
      const edge = await start(
        ...['--name', `node-${index}`, '--chunk-size', '64KiB', '--secret-file', secret],
        ...['--peers', `https://127.0.0.1:${proxies[0]?.port}`, '--grace', '1ms'],
        ...['--peer-url', `https://127.0.0.1:${proxy.port}`, '--http-port', '0'],
      );
      proxy.target = Number(new URL(edge.secureUrl).port);
      nodes.push(edge);
    }
    for (const node of nodes) await until(async () => (await usablePeers(node)).length === 1);
    return nodes;
  }

  test('share their chunks like any other nodes', async () => {
    const nodes = await startTwo();
    const url = origin.url('none', { seed: 'between-nodes', size: 4 * MiB });
    origin.sentBytes = 0;
    for (const node of nodes) {
      expect((await fetchAll(node.prefixed(url))).digest).toBe(origin.digest(url));
    }
    const races = await racesOf(nodes);
    expect(origin.sentBytes).toBeGreaterThanOrEqual(4 * MiB);
    expect(origin.sentBytes).toBeLessThanOrEqual(4 * MiB + races * 64 * 1024);
    const statuses = await Promise.all(nodes.map((node) => node.status()));
    for (const { peers } of statuses) expect(peers[0]?.url).toMatch(/^https:/);
    expect(statuses[0]?.forwards.all).toBeGreaterThan(0);
  });

  test('reset their requests to each other when they end', async () => {
    const nodes = await startTwo();
    // Both nodes own chunks that wait at the gate, so each node waits for the other.
    const url = origin.url('gate', { seed: 'ending', size: 4 * MiB });
    const clients = nodes.map((node) => fetchAll(node.prefixed(url)).catch(() => undefined));
    await until(() => origin.waiting > 4);
    // A client that came later would get a complete refusal instead.
    for (const node of nodes) await until(async () => (await node.status()).transfers.active > 0);
    expect(await Promise.all(nodes.map((node) => node.stop('SIGTERM')))).toEqual([0, 0]);
    for (const fetched of await Promise.all(clients)) expect(fetched?.complete).not.toBe(true);
  });
});
