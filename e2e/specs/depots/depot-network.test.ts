/** Links of a depot at the other nodes of its network: the bytes, their end, and no trace of secrets. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import type { EdgeProcess } from '../../fixtures/programs/processes.ts';
import {
  appendTo,
  askDepot,
  DepotStage,
  type Links,
  owned,
  reserve,
  store,
} from '../../fixtures/stages/depot-stage.ts';
import { becomes } from '../../fixtures/until.ts';

const clusters: Cluster[] = [];
// Before the stage deletes its folder.
afterAll(async () => {
  for (const cluster of clusters) await cluster.stop();
});

const stage = await DepotStage.set();
const [secretFile, adminFile] = [join(stage.folder, 'secret'), join(stage.folder, 'admin')];
await writeFile(secretFile, 'secret-of-the-network-of-tests-0123456789\n');
await writeFile(adminFile, 'token-of-the-operator-of-tests\n');
const CHUNK = 256 * 1024;
const depotOptions = ['--depot-dir', stage.depotDir, '--depot-owners-file', stage.ownersFile];
const cluster = await Cluster.start({
  nodes: 3,
  options: [
    ...['--secret-file', secretFile, '--admin-token-file', adminFile, '--log-level', 'debug'],
    ...['--client-requests', '0', '--chunk-size', '256KiB', '--allow-origin', 'example.org'],
  ],
  perNode: (i) => [
    ...['--cache-dir', join(stage.folder, `cache-${i}`)],
    ...(i === 0 ? depotOptions : []),
  ],
  proxies: true,
  publicUrls: true,
});
clusters.push(cluster);
const [depot, one, two] = [0, 1, 2].map((i) => cluster.node(i).edge) as [
  EdgeProcess,
  EdgeProcess,
  EdgeProcess,
];
const made: Links[] = [];
/** Stores bytes, and remembers the links. */
async function keep(...args: Parameters<typeof store>): Promise<Links> {
  const links = await store(...args);
  made.push(links);
  return links;
}
/** The link at another node. */
const at = (edge: EdgeProcess, { read }: Links) => edge.url + new URL(read).pathname;

async function got(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, digest: sha256(body) };
}

const codeAt = async (url: string) => {
  const { status, body } = await askDepot('GET', url);
  return [status, body?.code];
};

/** Returns how many requests of a node to others have failed. */
async function failuresAt(edge: EdgeProcess): Promise<number> {
  const text = await (await fetch(`${edge.url}/-/metrics`)).text();
  const counts = [...text.matchAll(/^millrace_peer_failures_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

describe('a link of a depot', () => {
  test('of an encrypted file opens as the same page at every node', async () => {
    const links = await keep(depot, Buffer.from('{}'), { name: 'encrypted.exnode' });
    const accept = 'text/html,*/*;q=0.8';
    const own = await got(links.read, { accept });
    expect(own.headers.get('content-type')).toBe('text/html; charset=utf-8');
    // A prefixed URL of the link, and the bytes for programs, which caches keep apart.
    for (const url of [at(one, links), `${two.url}/${links.read}`]) {
      expect(await got(url, { accept })).toMatchObject({ status: 200, digest: own.digest });
      const { headers, digest } = await got(url);
      expect([digest, headers.get('vary')]).toEqual([
        ...[sha256(Buffer.from('{}')), 'accept, sec-fetch-dest'],
      ]);
    }
  });

  test('gives the file at every node of the network, whole and in ranges', async () => {
    const content = contentOf('network', 20 * CHUNK + 17);
    const links = await keep(depot, content, { name: 'plan.html', type: 'text/html' });
    const own = await got(links.read);
    for (const edge of [one, two, one]) {
      const { status, headers, digest } = await got(at(edge, links));
      expect([status, digest]).toEqual([200, sha256(content)]);
      for (const name of [
        ...['etag', 'repr-digest', 'content-type', 'content-disposition', 'accept-ranges'],
        ...['content-length', 'content-security-policy', 'referrer-policy'],
        ...['x-content-type-options', 'access-control-allow-origin'],
      ]) {
        expect([name, headers.get(name)]).toEqual([name, own.headers.get(name)]);
      }
      expect(headers.get('cache-control')).toMatch(/^max-age=60, stale-if-error=3\d\d\d$/);
      const ends = [headers.get('sunset'), own.headers.get('sunset')].map((t) =>
        Date.parse(`${t}`),
      );
      expect(Math.abs((ends[0] ?? 0) - (ends[1] ?? 0))).toBeLessThan(60_000);
    }
    const other = await keep(depot, contentOf('ranges', 10 * CHUNK));
    const bytes = contentOf('ranges', 10 * CHUNK);
    for (const [start, end] of [
      ...[
        [0, 1],
        [CHUNK - 1, CHUNK + 1],
        [3 * CHUNK, 9 * CHUNK + 5],
        [10 * CHUNK - 7, 10 * CHUNK],
      ],
    ] as const) {
      const part = await got(at(two, other), { range: `bytes=${start}-${end - 1}` });
      expect([part.status, part.digest]).toEqual([206, sha256(bytes.subarray(start, end))]);
    }
    const etag = own.headers.get('etag') ?? '';
    expect((await got(at(one, links), { 'if-none-match': etag })).status).toBe(304);
    expect((await got(at(one, links), { 'if-match': '"other"' })).status).toBe(412);
    expect((await got(at(one, links), { range: 'bytes=99999999-' })).status).toBe(416);
    expect((await askDepot('HEAD', at(two, links))).headers.get('content-length')).toBe(
      String(content.length),
    );
    const empty = await keep(depot, Buffer.alloc(0));
    expect(await got(at(one, empty))).toMatchObject({
      status: 200,
      digest: sha256(Buffer.alloc(0)),
    });
    // Also behind a node's address, as any other URL: at an address that its policy does not serve.
    expect(await got(one.prefixed(links.read))).toMatchObject({ digest: sha256(content) });
    for (const edge of [depot, one, two]) {
      expect((await edge.status()).bytes.fromOrigins).toBe(0);
    }
    // The depot's own node keeps no second copy.
    expect((await depot.status()).cache.disk?.bytes).toBe(0);
    expect((await depot.status()).cache.memory.bytes).toBeLessThan(CHUNK);
  });

  test('is nothing without its secret, and made-up ids cost other nodes next to nothing', async () => {
    const links = await keep(depot, contentOf('secret', 1000));
    const path = new URL(links.read).pathname;
    const wrong = path.replace(/\/[\w-]{32}\//, `/${'x'.repeat(32)}/`);
    expect(await codeAt(one.url + wrong)).toEqual([404, 'no-such-allocation']);
    expect((await got(at(one, links))).status).toBe(200);
    // From now on node one knows better without asking.
    expect(await codeAt(one.url + wrong)).toEqual([404, 'no-such-allocation']);
    const strange = (i: number) => path.replace(links.id, `strange-${i + 10}------`);
    await becomes(() => codeAt(two.url + strange(0)), [404, 'no-such-allocation']);
    for (let i = 1; i < 30; i++) {
      expect((await askDepot('GET', two.url + strange(i))).status).toBe(404);
    }
    // Ids that could be the depot's cost a question each, until the client has guessed enough.
    const node = await cluster.add();
    await cluster.ready();
    const statuses: number[] = [];
    const begunAt = performance.now();
    for (let i = 0; i < 30; i++) {
      const guess = path.replace(links.id, `guessed-${i + 10}--${links.id.slice(12)}`);
      statuses.push((await askDepot('GET', node.edge.url + guess)).status);
    }
    expect(statuses[0]).toBe(404);
    expect(statuses.at(-1)).toBe(429);
    // Every six seconds permit one more.
    const more = Math.ceil((performance.now() - begunAt) / 6000);
    const asked = (what: string) => depot.log.filter((line) => line.includes(what)).length;
    await depot.logged(/guessed-10/);
    expect(asked('guessed-')).toBeLessThanOrEqual(12 + more);
    expect(asked(`/${links.id}?proof=`)).toBe(1);
    expect(asked('strange-')).toBe(0);
    await node.edge.stop('SIGKILL');
    await node.proxy?.stop();
    cluster.forget(node);
    // Names inside the network are none for clients.
    for (const url of [`http://depot.invalid/${links.id}`, `http://a.depot.invalid/${links.id}`]) {
      expect((await askDepot('GET', one.prefixed(url))).status).toBe(403);
    }
    // Only the file can be had elsewhere: uploads and management stay with the depot.
    for (const link of [links.write, links.manage]) {
      expect((await askDepot('GET', one.url + new URL(link).pathname)).status).toBe(404);
    }
    expect((await askDepot('POST', `${one.url}/-/depot`, owned(), {})).status).toBe(404);
    const open = await reserve(depot, 2000);
    expect(await codeAt(at(one, open))).toEqual([409, 'upload-incomplete']);
    await appendTo(open.write, 0, Buffer.alloc(2000), true);
    expect((await got(at(one, open))).status).toBe(200);
  });

  test('is void everywhere once the file is deleted, also for those who are reading it', async () => {
    const content = contentOf('deleted', 80 * CHUNK);
    const links = await keep(depot, content);
    expect((await got(at(one, links))).digest).toBe(sha256(content));
    const reading = await fetch(at(two, links));
    const reader = (reading.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    expect((await askDepot('DELETE', links.manage)).status).toBe(204);
    expect(await codeAt(at(one, links))).toEqual([404, 'no-such-allocation']);
    expect(await codeAt(at(two, links))).toEqual([404, 'no-such-allocation']);
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    await expect(rest()).rejects.toThrow();
    // A shorter lease is known at once as well.
    const short = await keep(depot, contentOf('short', 5 * CHUNK));
    expect((await got(at(one, short))).status).toBe(200);
    expect((await askDepot('PATCH', short.manage, {}, { seconds: 1 })).status).toBe(200);
    await becomes(() => codeAt(at(one, short)), [410, 'allocation-expired']);
  });
});

describe('while the depot is down', () => {
  test('nodes serve what they have within the lease, and say what is wrong with the rest', async () => {
    const content = contentOf('down', 12 * CHUNK);
    const [links, part, unknown] = [
      await keep(depot, content),
      await keep(depot, content),
      await keep(depot, contentOf('unknown', 1000)),
    ];
    expect((await got(at(one, links))).digest).toBe(sha256(content));
    expect((await got(at(two, links), { range: 'bytes=0-0' })).status).toBe(206);
    const beginning = { range: `bytes=0-${CHUNK - 1}` };
    expect((await got(at(one, part), beginning)).status).toBe(206);
    const short = await keep(depot, content);
    expect((await got(at(one, short))).digest).toBe(sha256(content));
    expect((await askDepot('PATCH', short.manage, {}, { seconds: 5 })).status).toBe(200);
    // Known again, with the new end; on a very slow machine it is over already.
    await got(at(one, short));
    const node = cluster.node(0);
    const failures = await failuresAt(one);
    await depot.stop('SIGKILL');
    for (const edge of [one, two]) {
      expect(await got(at(edge, links))).toMatchObject({ status: 200, digest: sha256(content) });
    }
    expect((await got(at(one, part), beginning)).status).toBe(206);
    const rest = await askDepot('GET', at(one, part), { range: `bytes=${5 * CHUNK}-` });
    expect([rest.status, rest.body.code]).toEqual([503, 'depot-unreachable']);
    expect(rest.headers.get('retry-after')).not.toBeNull();
    expect(await codeAt(at(one, unknown))).toEqual([503, 'depot-unreachable']);
    expect(await failuresAt(one)).toBeGreaterThan(failures);
    await becomes(() => codeAt(at(one, short)), [410, 'allocation-expired']);
    const again = await cluster.add(node);
    expect(again.name).toBe('node-0');
    await becomes(async () => (await got(at(one, unknown))).status, 200);
    expect((await got(at(one, part))).digest).toBe(sha256(content));
    // Deleted after the restart: the depot no longer knows who was told of the file.
    expect((await askDepot('DELETE', links.manage)).status).toBe(204);
    expect(await codeAt(at(one, links))).toEqual([404, 'no-such-allocation']);
  });
});

test('no node but the depot has a secret of a link, on its disk, in its log or in its figures', async () => {
  expect(made.length).toBeGreaterThan(8);
  const secrets = made.flatMap(({ read, write, manage }) =>
    [read, write, manage].map((link) => /\/([\w-]{32})(?:\/|$)/.exec(link)?.[1] ?? ''),
  );
  const proofs = secrets.map((secret) => sha256(Buffer.from(secret)));
  for (const [i, { edge }] of cluster.nodes.entries()) {
    const token = (await readFile(adminFile, 'utf8')).trim();
    const pages = ['status', 'metrics', 'refusals', 'edges'].map(async (page) =>
      (
        await fetch(`${edge.url}/-/${page}`, { headers: { authorization: `Bearer ${token}` } })
      ).text(),
    );
    const cache = join(stage.folder, `cache-${i}`);
    const names = await readdir(cache, { recursive: true, withFileTypes: true });
    const files = names
      .filter((entry) => entry.isFile())
      .map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1'));
    const texts = [...edge.log, ...(await Promise.all(pages))];
    const disk = await Promise.all(files);
    if (i > 0) expect(disk.some((text) => text.includes('http://depot.invalid/'))).toBe(true);
    for (const secret of secrets) {
      expect(secret).toHaveLength(32);
      expect([...texts, ...disk].some((text) => text.includes(secret))).toBe(false);
    }
    for (const proof of proofs) expect(disk.some((text) => text.includes(proof))).toBe(false);
  }
});
