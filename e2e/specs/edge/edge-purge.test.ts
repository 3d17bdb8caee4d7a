/** Purging: purged content is never served again, whatever freshness the origin gave it. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import type { ServedFile } from '../../fixtures/origins/file-server.ts';
import { ADMIN_TOKEN, ask, digestThrough } from '../../fixtures/programs/admin-client.ts';
import type { Cluster, Node } from '../../fixtures/programs/cluster.ts';
import type { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { AdminStage, FRESH } from '../../fixtures/stages/admin-stage.ts';
import { until } from '../../fixtures/until.ts';

const CHUNK = 65_536;
const BYTES = 300_000;

const stage = await AdminStage.set();
const { edge, origin, folder } = stage;
let files = 0;

/** Adds a new file to the origin. @returns also a function that replaces its content */
function publish(dir = '/') {
  const path = `${dir}file-${++files}`;
  let version = 0;
  const replace = (etag?: string) => {
    const body = contentOf(`${path} ${++version}`, BYTES);
    origin.add(path, { ...FRESH, body, ...(etag === undefined ? {} : { etag }) });
    return sha256(body);
  };
  return { url: origin.url(path), digest: replace(), replace };
}

describe('a purge of one node', () => {
  test('by URL: the new content is served though the old one is still fresh', async () => {
    const { url, digest, replace } = publish();
    const other = publish();
    expect(await digestThrough(edge, url)).toBe(digest);
    expect(await digestThrough(edge, other.url)).toBe(other.digest);
    const renewed = replace();
    expect(await digestThrough(edge, url)).toBe(digest);
    const answer = await ask(edge, 'POST', 'purge', { url });
    expect(answer).toMatchObject({ status: 200, body: { purged: { kind: 'url', url } } });
    expect(await digestThrough(edge, url)).toBe(renewed);
    // The other file is not touched: the edge has not asked the origin for it again.
    const { sentBytes } = origin;
    expect(await digestThrough(edge, other.url)).toBe(other.digest);
    expect(origin.sentBytes).toBe(sentBytes);
  });

  test('removes chunks with the pointer: wrong bytes under the same ETag are not used', async () => {
    const file = publish();
    const wrong = file.replace('"same"');
    expect(await digestThrough(edge, file.url)).toBe(wrong);
    const right = file.replace('"same"');
    await ask(edge, 'POST', 'purge', { url: file.url });
    expect(await digestThrough(edge, file.url)).toBe(right);
  });

  test('by prefix: all files below it are gone, and no others', async () => {
    const inside = [publish('/folder/'), publish('/folder/deeper/')];
    const outside = [publish('/folder2/'), publish('/')];
    for (const { url } of [...inside, ...outside]) await digestThrough(edge, url);
    const renewed = inside.map(({ replace }) => replace());
    for (const { replace } of outside) replace();
    const { status } = await ask(edge, 'POST', 'purge', { prefix: origin.url('/folder/*') });
    expect(status).toBe(200);
    for (const [i, { url }] of inside.entries()) {
      expect(await digestThrough(edge, url)).toBe(renewed[i]);
    }
    for (const { url, digest } of outside) expect(await digestThrough(edge, url)).toBe(digest);
  });

  test('by version: that version is gone, and another of the same file stays', async () => {
    const { url, digest, replace } = publish();
    expect(await digestThrough(edge, url)).toBe(digest);
    const { headers } = await fetchAll(edge.prefixed(url), { method: 'HEAD' });
    const renewed = replace();
    await ask(edge, 'POST', 'purge', { url, version: '"another"' });
    expect(await digestThrough(edge, url)).toBe(digest);
    await ask(edge, 'POST', 'purge', { url, version: headers.etag });
    expect(await digestThrough(edge, url)).toBe(renewed);
    const { sentBytes } = origin;
    await ask(edge, 'POST', 'purge', { url, version: headers.etag });
    expect(await digestThrough(edge, url)).toBe(renewed);
    expect(origin.sentBytes).toBe(sentBytes);
  });

  test('by version: content that was requested by its digest is gone too', async () => {
    const { url, digest } = publish();
    const sha = Buffer.from(digest, 'hex').toString('base64');
    const known = { headers: { 'Millrace-Digest': `sha-256=:${sha}:` } };
    const { headers } = await fetchAll(edge.prefixed(url), known);
    for (const [version, sent] of [
      ['"another"', 0],
      [headers.etag, BYTES],
    ] as const) {
      const { sentBytes } = origin;
      await ask(edge, 'POST', 'purge', { url, version });
      expect(await fetchAll(edge.prefixed(url), known)).toMatchObject({ status: 200, digest });
      expect(origin.sentBytes - sentBytes).toBe(sent);
    }
  });

  test('of everything: all files are fetched again', async () => {
    const some = [publish(), publish('/a/')];
    for (const { url } of some) await digestThrough(edge, url);
    const renewed = some.map(({ replace }) => replace());
    await ask(edge, 'POST', 'purge', { all: true });
    for (const [i, { url }] of some.entries()) {
      expect(await digestThrough(edge, url)).toBe(renewed[i]);
    }
  });
});

describe('a purge during a fetch', () => {
  test.each([
    ['another ETag', undefined],
    ['the same ETag', '"same"'],
  ])('does not let the fetch bring anything back: %s', async (_name, etag) => {
    const file = publish();
    const old = file.replace(etag);
    // The first answer with the old content stops in the middle until the test lets it continue.
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { pathname } = new URL(file.url);
    origin.add(pathname, { ...(origin.files.get(pathname) as ServedFile), hold: held });
    const before = fetchAll(edge.prefixed(file.url));
    await until(() => origin.held > 0);
    const renewed = file.replace(etag);
    await ask(edge, 'POST', 'purge', { url: file.url });
    // A client that comes after the purge does not join the fetch from before.
    expect(await digestThrough(edge, file.url)).toBe(renewed);
    release();
    // A client from before the purge gets one of the two contents, or a reset. If the versions
    // differ, it never gets some of each.
    const first = await before;
    if (etag === undefined && first.complete) expect([old, renewed]).toContain(first.digest);
    expect(await digestThrough(edge, file.url)).toBe(renewed);
  });
});

describe('a purge and the disk tier', () => {
  let dir = '';
  const disk = () => ['--cache-dir', dir, '--cache-memory', '0'];

  beforeEach(() => {
    dir = join(folder, `cache-of-${++files}`);
  });

  async function filled(one: EdgeProcess, count: number): Promise<void> {
    const records = count * (Math.ceil(BYTES / CHUNK) + 1);
    await until(async () => ((await one.status()).cache.disk?.records ?? 0) >= records);
  }

  test.each(['SIGTERM', 'SIGKILL'] as const)('survives a restart after %s', async (signal) => {
    const first = await stage.start(...disk());
    const { url, digest, replace } = publish();
    const kept = publish();
    expect(await digestThrough(first, url)).toBe(digest);
    expect(await digestThrough(first, kept.url)).toBe(kept.digest);
    await filled(first, 2);
    const renewed = replace('"same"');
    await ask(first, 'POST', 'purge', { url });
    await first.stop(signal);
    const { sentBytes } = origin;
    const again = await stage.start(...disk());
    // A file that was not purged is still there.
    expect(await digestThrough(again, kept.url)).toBe(kept.digest);
    expect(origin.sentBytes).toBe(sentBytes);
    expect(await digestThrough(again, url)).toBe(renewed);
  });

  test('a damaged list of purges costs the cache, and brings nothing back', async () => {
    const { url, digest, replace } = publish();
    const file = join(dir, 'purges.log');
    const first = await stage.start(...disk());
    expect(await digestThrough(first, url)).toBe(digest);
    await filled(first, 1);
    const renewed = replace('"same"');
    await ask(first, 'POST', 'purge', { url });
    expect(await digestThrough(first, url)).toBe(renewed);
    await filled(first, 1);
    const latest = replace('"same"');
    await first.stop();
    await writeFile(file, 'not what it was\n');
    const damaged = await stage.start(...disk());
    expect(await digestThrough(damaged, url)).toBe(latest);
    await damaged.logged(/list of purges is damaged/);
  });
});

describe('a purge of a network', () => {
  const SECRET = 'a secret of the whole network';

  async function startNetwork(nodes: number): Promise<Cluster> {
    const secretFile = join(folder, 'secret');
    const name = `network-${++files}`;
    await writeFile(secretFile, SECRET);
    return stage.network(nodes, ['--secret-file', secretFile], (index) => [
      ...['--cache-dir', join(folder, `${name}-${index}`)],
    ]);
  }

  const everywhere = (nodes: readonly Node[], url: string) =>
    Promise.all(nodes.map(({ edge }) => digestThrough(edge, url)));

  test('reaches all nodes, and reports on each', async () => {
    const { nodes } = await startNetwork(3);
    const { url, digest, replace } = publish();
    expect(new Set(await everywhere(nodes, url))).toEqual(new Set([digest]));
    const renewed = replace();
    const [first] = nodes as [Node];
    const { status, body } = await ask(first.edge, 'POST', 'purge', { url, network: true });
    expect(status).toBe(200);
    expect(
      body.nodes.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok]).sort(),
    ).toEqual([
      ['node-1', true],
      ['node-2', true],
    ]);
    expect(new Set(await everywhere(nodes, url))).toEqual(new Set([renewed]));

    const { headers } = await fetchAll(first.edge.prefixed(url), { method: 'HEAD' });
    const third = replace();
    const version = { url, version: headers.etag, network: true };
    expect((await ask(first.edge, 'POST', 'purge', version)).status).toBe(200);
    expect(new Set(await everywhere(nodes, url))).toEqual(new Set([third]));
  });

  test('is accepted only from holders of the secret', async () => {
    const { nodes } = await startNetwork(1);
    const [{ edge: node }] = nodes as [Node];
    const { url, digest, replace } = publish();
    expect(await digestThrough(node, url)).toBe(digest);
    replace();
    const purge = { target: { kind: 'url', url }, id: 'of-a-stranger', at: 1 };
    const body = JSON.stringify({ do: 'purge', purge, network: true });
    const target = `${node.url}/-/command?digest=${sha256(Buffer.from(body))}`;
    for (const forged of [
      {},
      { authorization: `Bearer ${ADMIN_TOKEN}` },
      { 'x-millrace-auth': `t=${Date.now()}, n=${'0'.repeat(32)}, h=${'0'.repeat(64)}` },
    ] as Record<string, string>[]) {
      const headers = { 'content-type': 'application/json', ...forged };
      const response = await fetch(target, { method: 'POST', headers, body });
      expect([response.status, (await response.json()).code]).toEqual([
        403,
        'inside-request-refused',
      ]);
    }
    for (const path of ['purges', 'pinned']) {
      expect((await fetch(`${node.url}/-/${path}`)).status).toBe(403);
    }
    // A forged purge with a request for a file is refused too.
    const told = { 'x-bigfile': '1', 'x-millrace-purges': 'a=of-a-stranger' };
    expect((await fetchAll(node.prefixed(url), { headers: told })).status).toBe(403);
    expect(await digestThrough(node, url)).toBe(digest);
  });

  test('of one node only: that node serves nothing old, though the file’s owner still has it', async () => {
    const { nodes } = await startNetwork(3);
    const { url, digest, replace } = publish();
    expect(new Set(await everywhere(nodes, url))).toEqual(new Set([digest]));
    for (const { edge } of nodes) {
      const renewed = replace();
      expect((await ask(edge, 'POST', 'purge', { url })).body.nodes).toBeUndefined();
      expect(await digestThrough(edge, url)).toBe(renewed);
    }
  });

  test('reaches a node that was away when it comes back', async () => {
    const cluster = await startNetwork(3);
    const { url, replace } = publish();
    // Revalidation would not help, because the new content has the same ETag.
    const digest = replace('"same"');
    expect(new Set(await everywhere(cluster.nodes, url))).toEqual(new Set([digest]));
    const away = cluster.node(2);
    await until(async () => ((await away.edge.status()).cache.disk?.records ?? 0) > 0);
    await away.edge.stop('SIGKILL');
    const renewed = replace('"same"');
    const { body } = await ask(cluster.node(0).edge, 'POST', 'purge', { url, network: true });
    expect(body.nodes).toContainEqual(
      expect.objectContaining({ name: 'node-2', ok: false, code: 'origin-unreachable' }),
    );
    expect(body.nodes).toContainEqual(expect.objectContaining({ name: 'node-1', ok: true }));
    const back = await cluster.add(away);
    // The node's first answer is right already: the test waits for nothing here.
    expect(await digestThrough(back.edge, url)).toBe(renewed);
    expect(new Set(await everywhere(cluster.nodes, url))).toEqual(new Set([renewed]));
  });
});
