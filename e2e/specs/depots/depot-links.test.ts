/** Links to files that lie on several depots of a network: any program takes them from any edge. */

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { Cluster, type Node } from '../../fixtures/programs/cluster.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { askDepot, DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { becomes } from '../../fixtures/until.ts';

const seed = testSeed('tests of links to files');
const random = seededRandom(seed);
const run = promisify(execFile);

const MIB = 1024 * 1024;
const BYTES = 6 * MIB + 4321;
const content = contentOf(`by links, of seed ${seed}`, BYTES);

let cluster: Cluster | undefined;
// Before the stage deletes its folder.
afterAll(() => cluster?.stop());
const stage = await DepotStage.set();
const secretFile = join(stage.folder, 'secret');
await writeFile(secretFile, 'secret-of-the-network-of-tests-0123456789\n');
const file = join(stage.folder, 'the set.bin');
await writeFile(file, content);
const depotOptions = (i: number) => [
  ...['--depot-dir', join(stage.folder, `depot-${i}`), '--depot-quota', '1GiB'],
  ...['--depot-owners-file', stage.ownersFile],
];
cluster = await Cluster.start({
  nodes: 4,
  options: ['--secret-file', secretFile, '--client-requests', '0'],
  // A node that comes later has none.
  perNode: (i) => (i < 4 ? depotOptions(i) : []),
  proxies: true,
  publicUrls: true,
});
const nodes = [...cluster.nodes];
const env = { MILLRACE_STATE: join(stage.folder, 'state') };
const originOf = ({ proxy }: Node) => `http://127.0.0.1:${proxy?.port}`;

// biome-ignore lint/suspicious/noExplicitAny: a document of the command line
type Document = any;

async function upload(name: string, ...options: string[]): Promise<Document> {
  const edges = nodes.flatMap((node) => ['--edge', originOf(node)]);
  const { code, stdout } = await runCli(
    [
      ...['upload', file, ...edges, '--token-file', stage.tokenFile, '--json'],
      ...['-o', join(stage.folder, `${name}.exnode`), ...options],
    ],
    env,
  );
  if (code !== 0) throw new Error(stdout);
  return JSON.parse(stdout.trim().split('\n').at(-1) as string);
}

/** Downloads with curl. @returns what curl writes */
async function curl(...args: string[]): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 64 * MIB } as const;
  const { stdout } = await run('curl', ['-fsS', ...args], options);
  return stdout;
}

const done: Record<string, Document> = {};
beforeAll(async () => {
  done.striped = await upload('striped', '--stripe', '2+2');
  done.copies = await upload('copies', '--copies', '3');
  done.sealed = await upload('sealed', '--stripe', '2+2', '--encrypt');
});
const kinds = ['striped', 'copies'] as const;
const linksOf = (kind: string): string[] => done[kind].links;

describe('a link to a file on several depots', () => {
  test.each(kinds)('is what an upload gives, and curl saves the file: %s', async (kind) => {
    expect(linksOf(kind)).toHaveLength(4);
    for (const link of linksOf(kind)) {
      expect(link).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+\/-\/f\/[\w-]{16}\/[\w-]{32}\/the%20set\.bin#r\./,
      );
    }
    const [link = ''] = linksOf(kind);
    const cwd = join(stage.folder, `saved-${kind}`);
    await mkdir(cwd);
    await run('curl', ['-fsSOJL', link], { cwd });
    expect(sha256(await readFile(join(cwd, 'the set.bin')))).toBe(sha256(content));
  });

  test.each(kinds)('leads to the file at every node, by header and by range: %s', async (kind) => {
    const { pathname } = new URL(linksOf(kind)[0] as string);
    const { root } = done[kind];
    for (const node of nodes) {
      const url = originOf(node) + pathname;
      const head = await askDepot('HEAD', url);
      expect(head.status).toBe(200);
      const fields = Object.fromEntries(head.headers);
      const digest = Buffer.from(sha256(content), 'hex').toString('base64');
      expect(fields).toMatchObject({
        'content-length': `${BYTES}`,
        etag: `"${root}"`,
        'repr-digest': `sha-256=:${digest}:`,
        'accept-ranges': 'bytes',
        'content-disposition': 'attachment; filename="the set.bin"',
        'content-security-policy': 'sandbox',
      });
      expect(Date.parse(fields.sunset ?? '')).toBeGreaterThan(Date.now());
      const [start, end] = [Math.floor(random() * BYTES), BYTES - 1];
      const part = await askDepot('GET', url, {
        range: `bytes=${start}-`,
        'if-range': `"${root}"`,
      });
      expect([part.status, part.headers.get('content-range')]).toEqual([
        ...[206, `bytes ${start}-${end}/${BYTES}`],
      ]);
      const same = await askDepot('GET', url, { 'if-none-match': `"${root}"` });
      expect(same.status).toBe(304);
    }
  });

  test('is in the Metalink of a file that no depot has as a whole, for other programs', async () => {
    for (const given of [join(stage.folder, 'striped.exnode'), linksOf('striped')[1] as string]) {
      const { code, stdout } = await runCli(['metalink', given], env);
      expect(code).toBe(0);
      const urls = [...stdout.matchAll(/<url [^>]*>([^<]*)</g)].map(([, url]) => url as string);
      const owns = given.startsWith('http') ? linksOf('striped').slice(1, 2) : linksOf('striped');
      expect(new Set(urls)).toEqual(new Set(owns.map((link) => link.replace(/#.*/, ''))));
      expect(stdout).toContain(`<hash type="sha-256">${sha256(content)}</hash>`);
    }
    const sealed = await runCli(['metalink', join(stage.folder, 'sealed.exnode'), '--json'], env);
    expect([sealed.code, sealed.stdout]).toEqual([2, expect.stringContaining('encrypted')]);
  });

  test('that is not right leads nowhere', async () => {
    const link = (linksOf('striped')[0] as string).replace(/#.*/, '');
    const other = link.replace(/\/[\w-]{32}\//, `/${'A'.repeat(32)}/`);
    expect(await askDepot('GET', other)).toMatchObject({
      status: 404,
      body: { code: 'no-such-allocation' },
    });
    expect((await askDepot('POST', link)).status).toBe(405);
  });

  test('of an encrypted file gives its ciphertext to programs, and browsers a page', async () => {
    const [link = ''] = linksOf('sealed');
    expect(link).toMatch(/\/encrypted#k\.[\w-]{43}$/);
    const bytes = await curl(link);
    expect([bytes.length, bytes.equals(content)]).toEqual([BYTES, false]);
    const page = await run('curl', ['-sS', '-H', 'Accept: text/html,*/*', link]);
    expect(page.stdout).toMatch(/^<!doctype html>/i);
    // The line that decrypts without Millrace works for striped files too.
    const cwd = join(stage.folder, 'decrypted');
    await mkdir(cwd);
    await run('sh', ['-c', done.sealed.decrypt], { cwd });
    expect(sha256(await readFile(join(cwd, 'the set.bin')))).toBe(sha256(content));
  });

  test('is taken apart by millrace get, which holds it to its root', async () => {
    const [link = '', other = ''] = [linksOf('striped')[1], linksOf('sealed')[0]];
    const get = (from: string, name: string) =>
      runCli(['get', from, '-o', join(stage.folder, name), '--json'], env);
    for (const [from, name] of [
      [link, 'a.bin'],
      [link.replace(/#.*/, ''), 'b.bin'],
      [other, 'c.bin'],
    ] as const) {
      const { code, stdout } = await get(from, name);
      if (code !== 0) throw new Error(stdout);
      expect(sha256(await readFile(join(stage.folder, name)))).toBe(sha256(content));
    }
    const wrong = link.replace(/#r\.../, '#r.00');
    expect((await get(wrong, 'd.bin')).stdout).toContain('bad-exnode');
  });

  test('stays as it is, and leads to the replicas that its owner has', async () => {
    done.kept = await upload('kept', '--copies', '3');
    const [link = ''] = linksOf('kept');
    const sunset = async (node: Node) => {
      const head = await askDepot('HEAD', originOf(node) + new URL(link).pathname);
      return (Date.parse(head.headers.get('sunset') ?? '') - Date.now()) / 86_400_000;
    };
    const managing = async (...args: string[]) => {
      const { code, stdout } = await runCli([...args, '--json'], env);
      if (code !== 0) throw new Error(stdout);
      return JSON.parse(stdout.trim().split('\n').at(-1) as string);
    };
    for (const node of nodes) expect(await sunset(node)).toBeLessThan(8);
    const own = join(stage.folder, 'kept.exnode');
    expect((await managing('refresh', own, '--for', '20d')).stale).toEqual([]);
    for (const node of nodes) expect(await sunset(node)).toBeGreaterThan(19);
    const [place = ''] = JSON.parse(await readFile(own, 'utf8')).extents[0].shards[0].map(
      ({ read }: Document) => new URL(read).origin,
    );
    expect((await managing('trim', own, '--edge', place)).stale).toEqual([]);
    done.trimmed = place;
    const [document = ''] = done.kept.exnodes.filter((one: string) => !one.startsWith(place));
    for (const node of nodes) {
      const shared = await (await fetch(originOf(node) + new URL(document).pathname)).text();
      expect([shared.includes(`"name":"the set.bin"`), shared.includes(place)]).toEqual([
        true,
        false,
      ]);
    }
    expect(await managing('trim', join(stage.folder, 'sealed.exnode'), '--all')).toBeDefined();
    const { pathname } = new URL(linksOf('sealed')[0] as string);
    for (const node of nodes) {
      expect((await askDepot('HEAD', originOf(node) + pathname)).status).toBe(404);
    }
  });

  test('gives the file by curl although two edges are dead, one of them its own', async () => {
    // Edges that come later learn of the network from the first one.
    const [, ...others] = nodes;
    const dead = others
      .map((node) => ({ node, rank: random() }))
      .sort((a, b) => a.rank - b.rank)
      .slice(0, 2)
      .map(({ node }) => node);
    const dead2 = new Set(dead.map(originOf));
    const isDead = (link: string) => dead2.has(new URL(link).origin);
    const [gone = ''] = linksOf('sealed').filter(isDead);
    const [renewed = ''] = (done.kept.exnodes as string[])
      .filter(isDead)
      .filter((link) => new URL(link).origin !== done.trimmed);
    for (const { edge } of dead) await edge.stop('SIGKILL');
    const left = nodes.filter((node) => !dead.includes(node));
    // It knows nothing of the dead ones, and has no depot.
    const fresh = await (cluster as Cluster).add();
    const at = (node: Node, link: string) => originOf(node) + new URL(link).pathname;
    for (const kind of kinds) {
      for (const link of linksOf(kind)) {
        for (const node of [...left, fresh]) {
          await becomes(async () => (await askDepot('HEAD', at(node, link))).status, 200);
        }
        const whole = await curl(at(fresh, link));
        expect([kind, sha256(whole)]).toEqual([kind, sha256(content)]);
        const part = await curl('-r', '1000000-5000000', at(left[1] as Node, link));
        expect(part.equals(content.subarray(1_000_000, 5_000_001))).toBe(true);
      }
    }
    // The copies of its exNode have the present lease, and none is left of what was revoked.
    const head = await askDepot('HEAD', at(fresh, renewed));
    const days = (Date.parse(head.headers.get('sunset') ?? '') - Date.now()) / 86_400_000;
    expect([head.status, days > 19]).toEqual([200, true]);
    for (const node of [...left, fresh]) {
      expect([404, 503]).toContain((await askDepot('HEAD', at(node, gone))).status);
    }
  });
});
