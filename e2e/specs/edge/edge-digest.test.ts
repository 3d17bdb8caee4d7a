/** Requests that state the digest of the content that must answer: `Millrace-Digest`. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer, type ServedFile } from '../../fixtures/origins/file-server.ts';
import { Cluster, racesOf } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';

const MiB = 1024 * 1024;
/** Bytes of a chunk, unless an edge is told otherwise. */
const CHUNK = 512 * 1024;
const OPTIONS = ['--allow-origin', '127.0.0.1', '--log-level', 'warn'];
/** With these fields an edge has no reason of its own to ask the origin again. */
const FRESH = { 'cache-control': 'max-age=31536000' };

let origin: FileServer;
let cluster: Cluster;
let files = 0;
let alone: EdgeProcess | undefined;

beforeAll(async () => {
  origin = await FileServer.start();
  cluster = await Cluster.start({ nodes: 3, options: OPTIONS });
});

afterEach(async () => {
  await alone?.stop();
  alone = undefined;
});

afterAll(async () => {
  await cluster?.stop();
  await origin?.stop();
});

function add(file: Partial<ServedFile> & Pick<ServedFile, 'body'>): { path: string; url: string } {
  const path = `/file-${files++}`;
  return { path, url: origin.add(path, { headers: FRESH, ...file }) };
}

/** Returns the digest of a body as RFC 9530 writes it. */
const field = (body: Buffer) => `sha-256=:${Buffer.from(sha256(body), 'hex').toString('base64')}:`;

const ask = (edge: EdgeProcess, url: string, body: Buffer, more: Record<string, string> = {}) =>
  fetchAll(edge.prefixed(url), { headers: { 'Millrace-Digest': field(body), ...more } });

const problemOf = ({ status, body }: Fetched) => [status, JSON.parse(body.toString()).code];

const nodes = () => cluster.nodes.map(({ edge }) => edge);
const node = (index: number) => cluster.node(index).edge;

describe('content that is known by its digest', () => {
  test.each([
    ['of one chunk', 200_000],
    ['of several chunks', 5 * MiB],
  ])('%s: every node of a network has it, and the origin sends it once', async (_, bytes) => {
    const body = contentOf(`known ${bytes}`, bytes);
    const { url } = add({ body });
    const before = origin.sentBytes;
    const races = await racesOf(nodes());
    for (const edge of nodes()) {
      const got = await ask(edge, url, body);
      expect([got.status, got.complete, got.digest]).toEqual([200, true, sha256(body)]);
    }
    const sent = origin.sentBytes - before;
    expect(sent).toBeGreaterThanOrEqual(bytes);
    expect(sent).toBeLessThanOrEqual(bytes + ((await racesOf(nodes())) - races) * CHUNK);
  });

  test.each([
    ['of one chunk', 200_000],
    ['of several chunks', 5 * MiB],
  ])(
    '%s: a fresh copy of other content answers only requests without a digest',
    async (_, bytes) => {
      const [old, next] = [contentOf(`old ${bytes}`, bytes), contentOf(`next ${bytes}`, bytes)];
      const { path, url } = add({ body: old });
      for (const edge of nodes())
        expect((await fetchAll(edge.prefixed(url))).digest).toBe(sha256(old));
      origin.add(path, { body: next, headers: FRESH });
      for (const edge of nodes()) {
        expect((await ask(edge, url, next)).digest).toBe(sha256(next));
        expect((await fetchAll(edge.prefixed(url))).digest).toBe(sha256(old));
      }
    },
  );

  test('answers rightly under the same entity tag as other content', async () => {
    const [old, next] = [contentOf('tag old', 5000), contentOf('tag next', 5000)];
    const { path, url } = add({ body: old, etag: '"same"' });
    expect((await ask(node(0), url, old)).digest).toBe(sha256(old));
    origin.add(path, { body: next, etag: '"same"', headers: FRESH });
    expect((await ask(node(1), url, next)).digest).toBe(sha256(next));
    expect((await ask(node(2), url, old)).digest).toBe(sha256(old));
  });

  test('needs no revalidation, even where the origin asks for it', async () => {
    const body = contentOf('immutable', 3000);
    const { url } = add({ body, headers: { 'cache-control': 'no-cache' } });
    await ask(node(0), url, body);
    const asked = origin.requests.length;
    for (const edge of nodes()) expect((await ask(edge, url, body)).status).toBe(200);
    expect(origin.requests.length).toBe(asked);
  });

  test('can be requested with ranges and conditions as usual', async () => {
    const body = contentOf('ranges', 3 * MiB);
    const { url } = add({ body });
    const part = await ask(node(0), url, body, { range: 'bytes=2000000-2999999' });
    expect([part.status, part.digest]).toEqual([206, sha256(body.subarray(2_000_000, 3_000_000))]);
    expect(part.headers.vary).toBe('millrace-digest');
    const { etag = '' } = part.headers;
    expect((await ask(node(0), url, body, { 'if-none-match': etag })).status).toBe(304);
  });

  test('survives a restart of an edge with a disk', async () => {
    const folder = await temporaryFolder();
    const options = [...OPTIONS, '--cache-dir', folder.path];
    const body = contentOf('disk', 2 * MiB);
    const { url } = add({ body });
    for (const expected of [body.length, 0]) {
      alone = await EdgeProcess.start(options);
      const before = origin.sentBytes;
      expect((await ask(alone, url, body)).digest).toBe(sha256(body));
      expect(origin.sentBytes - before).toBe(expected);
      await alone.stop();
    }
    await folder.remove();
  });
});

describe('an origin that has other content', () => {
  test('in one chunk: every node refuses and keeps nothing, until the origin has the right one', async () => {
    const [has, wanted] = [contentOf('has', 4000), contentOf('wanted', 4000)];
    const { path, url } = add({ body: has });
    for (const edge of nodes()) {
      expect(problemOf(await ask(edge, url, wanted))).toEqual([412, 'precondition-failed']);
    }
    origin.add(path, { body: wanted, headers: FRESH });
    for (const edge of nodes()) expect((await ask(edge, url, wanted)).digest).toBe(sha256(wanted));
  });

  test('and says so with Repr-Digest: the edge refuses before any of a large file is sent', async () => {
    const [has, wanted] = [contentOf('has much', 4 * MiB), contentOf('wanted much', 4 * MiB)];
    const { url } = add({ body: has, headers: { ...FRESH, 'repr-digest': field(has) } });
    expect(problemOf(await ask(node(0), url, wanted))).toEqual([412, 'precondition-failed']);
    expect((await ask(node(1), url, has)).digest).toBe(sha256(has));
  });

  test('and no ranges, but Repr-Digest: the edge refuses as well', async () => {
    const [has, wanted] = [contentOf('tunnel', 4000), contentOf('not in the tunnel', 4000)];
    const headers = { 'repr-digest': field(has) };
    const { url } = add({ body: has, noRanges: true, headers });
    for (const _ of ['first', 'known to have no ranges']) {
      expect(problemOf(await ask(node(0), url, wanted))).toEqual([412, 'precondition-failed']);
      expect((await ask(node(0), url, has)).digest).toBe(sha256(has));
    }
  });

  test('in several chunks: the client finds out, and the edge asks again when told to', async () => {
    const [has, wanted] = [contentOf('early', 3 * MiB), contentOf('uploaded', 3 * MiB)];
    const { path, url } = add({ body: has });
    // The client has the manifest of a file that is not uploaded yet.
    expect((await ask(node(0), url, wanted)).digest).toBe(sha256(has));
    origin.add(path, { body: wanted, headers: FRESH });
    const anew = await ask(node(0), url, wanted, { 'cache-control': 'no-cache' });
    expect(anew.digest).toBe(sha256(wanted));
  });
});

test.each(['', 'sha-256=abc', 'sha-512=:AAAA:', 'md5=:1B2M2Y8AsgTpgAmY7PhCfg==:'])(
  'a digest that cannot be parsed (%j) is refused: other bytes must not answer',
  async (value) => {
    const { url } = add({ body: contentOf('any', 100) });
    const got = await fetchAll(node(0).prefixed(url), { headers: { 'Millrace-Digest': value } });
    expect(problemOf(got)).toEqual([400, 'bad-request']);
  },
);
