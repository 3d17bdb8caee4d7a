/** Downloads from several sources at once, as users of `millrace get` see them. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { OPENPGP_KEY } from '@millrace/shared/download/signatures/testing/signed';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { Cluster, racesOf } from '../../fixtures/programs/cluster.ts';
import { CliProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const SIZE = 6_000_000;
const ONE_SAMPLE_BYTES = 16 * 1024;
/** Bytes that comparing one source costs: six samples from it and from another. */
const SAMPLE_BYTES = 2 * 6 * ONE_SAMPLE_BYTES;
const OK = 0;
const REFUSED = 4;
const CHECKSUM = 5;
const SOURCE = 7;

// Made by GnuPG 2.2 with that key for the list of the file that `contentOf('signed', SIZE)` is.
const SIGNATURE = `-----BEGIN PGP SIGNATURE-----

iHUEABYIAB0WIQQwIepA8HL8We0+VFLoNUgNu1tGzwUCaVW5AAAKCRDoNUgNu1tG
z/vhAQDR7RPx+E4C+NofRmy59IS669qbNOzJ11MJR3Mh3fs56wD/Sb5x48TZMXxs
Yc0uAO44AZtAw6ybnMPfoEj2rz1Jmgc=
=IK5g
-----END PGP SIGNATURE-----
`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let keys: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FileServer;
let mirror: FileServer;

beforeEach(async () => {
  [folder, keys] = await Promise.all([temporaryFolder(), temporaryFolder()]);
  [origin, mirror] = await Promise.all([FileServer.start(), FileServer.start()]);
});
afterEach(async () => {
  await Promise.all([origin.stop(), mirror.stop(), folder.remove(), keys.remove()]);
});

const get = (...args: string[]) => runCli(['get', ...args, '-d', folder.path]);
/**
 * The members of a file that cannot be whole before a condition is true: of each answer half comes
 * before. Samples, by which sources are compared, come at once.
 */
const heldUntil = (condition: () => boolean) => ({
  hold: until(condition),
  freelyBytes: ONE_SAMPLE_BYTES,
});
/** Runs `millrace get`; `says` tells whether it has printed something. */
function getting(...args: string[]) {
  let printed = '';
  const says = (words: string) => printed.includes(words);
  const run = () => {
    const { child, result } = new CliProcess(['get', ...args, '-d', folder.path]);
    child.stdout?.on('data', (data) => {
      printed += data;
    });
    return result;
  };
  return { says, run };
}
const saved = async (name: string) => sha256(await readFile(join(folder.path, name)));
/**
 * Returns how many bytes of the file a run with `--json` reports as received. The servers count all
 * bytes that a request asked for, even if the client cut the answer short.
 */
const receivedBytes = (stdout: string): number =>
  JSON.parse(stdout.trim().split('\n').at(-1) ?? '').receivedBytes;
const other = (body: Buffer, at: number) => {
  const changed = Buffer.from(body);
  for (let i = at; i < changed.length; i++) changed[i] = (changed[i] as number) ^ 0xff;
  return changed;
};

describe('mirrors', () => {
  test('with the same bytes share the work, whatever their entity tags are', async () => {
    const body = contentOf('shared', SIZE);
    const isShared = () => mirror.sentBytes > SIZE / 20 + SAMPLE_BYTES;
    const url = origin.add('/a.iso', { body, etag: '"one"', ...heldUntil(isShared) });
    const second = mirror.add('/pub/b.iso', { body, etag: '"two"' });
    const result = await get(url, '--mirror', second, '--limit', '1M', '--json');
    expect(result).toMatchObject({ code: OK });
    expect(await saved('a.iso')).toBe(sha256(body));
    // Both sources contributed, and hardly a byte came twice.
    expect(Math.min(origin.sentBytes, mirror.sentBytes)).toBeGreaterThan(SIZE / 20);
    expect(receivedBytes(result.stdout)).toBeLessThan(SIZE * 1.02 + SAMPLE_BYTES);
  });

  test.each([
    ['other bytes', (body: Buffer) => other(body, body.length - 1000)],
    ['another length', (body: Buffer) => body.subarray(0, body.length - 1)],
  ])('with %s are recognised, and their bytes never mixed in', async (_what, change) => {
    const body = contentOf('mixed', SIZE);
    const { says, run } = getting(origin.url('/a.iso'), '--mirror', mirror.url('/a.iso'));
    const isFoundOut = () => says('is no longer used');
    origin.add('/a.iso', { body, etag: '"one"', ...heldUntil(isFoundOut) });
    mirror.add('/a.iso', { body: change(body), etag: '"two"' });
    const result = await run();
    expect(result).toMatchObject({ code: OK });
    expect(result.stdout).toMatch(/is no longer used: The source has another file/);
    expect(await saved('a.iso')).toBe(sha256(body));
    expect(mirror.sentBytes).toBeLessThan(SAMPLE_BYTES);
  });

  test('stand in for a first URL that does not work', async () => {
    const body = contentOf('first', SIZE);
    const second = mirror.add('/a.iso', { body });
    const result = await get(origin.url('/a.iso'), '--mirror', second);
    expect(result).toMatchObject({ code: OK });
    expect(await saved('a.iso')).toBe(sha256(body));
  });

  test('that the server names in Link fields are used (RFC 6249)', async () => {
    const body = contentOf('linked', SIZE);
    const second = mirror.add('/a.iso', { body, etag: '"two"' });
    const link = `<${second}>; rel=duplicate; pri=1`;
    const isShared = () => mirror.sentBytes > SIZE / 20 + SAMPLE_BYTES;
    const held = heldUntil(isShared);
    const url = origin.add('/a.iso', { body, etag: '"one"', headers: { link }, ...held });
    expect(await get(url)).toMatchObject({ code: OK });
    expect(await saved('a.iso')).toBe(sha256(body));
    expect(mirror.sentBytes).toBeGreaterThan(SIZE / 20);
  });
});

describe('a link that has expired', () => {
  /** Begins a download whose URL stops working after some answers. */
  async function begin(body: Buffer): Promise<void> {
    const refuse = (count: number) => (count > 4 ? 403 : undefined);
    // Otherwise the first answer would bring the whole file.
    const breaks = () => Math.floor(SIZE / 10);
    const url = origin.add('/get?ticket=1', { body, etag: '"first"', refuse, breaks });
    const result = await get(url, '-o', join(folder.path, 'a.iso'));
    expect(result).toMatchObject({ code: REFUSED });
    expect(await readdir(folder.path)).toEqual(['a.iso.millrace-journal', 'a.iso.millrace-part']);
  }

  /** Returns how many bytes of an earlier run a run with `--json` reports as found. */
  function resumedBytes(stdout: string): number {
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return lines.find(({ event }) => event === 'start').resumedBytes;
  }

  /** Expects that a link goes on with the partial file, and that its bytes are not fetched again. */
  async function resumes(link: string, body: Buffer): Promise<void> {
    const result = await get(link, '-o', join(folder.path, 'a.iso'), '--json');
    expect(result).toMatchObject({ code: OK });
    expect(await saved('a.iso')).toBe(sha256(body));
    // Bytes of answers in flight when the link expired may be lost.
    const resumed = resumedBytes(result.stdout);
    expect(resumed).toBeGreaterThan(0);
    expect(resumed + receivedBytes(result.stdout)).toBeLessThan(SIZE * 1.02 + SAMPLE_BYTES);
  }

  test('is replaced by a new link to the same file, and nothing is fetched again', async () => {
    const body = contentOf('expired', SIZE);
    await begin(body);
    const fresh = mirror.add('/get?ticket=2', { body, etag: '"second"' });
    await resumes(fresh, body);
  });

  test('is not replaced by a link to another file: the partial file stays for the right link', async () => {
    const body = contentOf('expired', SIZE);
    await begin(body);
    for (const [i, wrong] of [other(body, 0), body.subarray(1)].entries()) {
      const url = mirror.add(`/get?wrong=${i}`, { body: wrong, etag: '"second"' });
      const result = await get(url, '-o', join(folder.path, 'a.iso'));
      expect(result).toMatchObject({ code: SOURCE });
      expect(result.stderr).toMatch(/another file[\s\S]*URL of the same file/);
    }
    const fresh = mirror.add('/get?ticket=2', { body, etag: '"third"' });
    await resumes(fresh, body);
  });
});

describe('digests', () => {
  test('of pieces find the damaged piece, and only that piece is fetched again', async () => {
    const body = contentOf('pieces', SIZE);
    const pieceBytes = 1_000_000;
    const hashes = Array.from({ length: 6 }, (_, i) =>
      sha256(body.subarray(i * pieceBytes, (i + 1) * pieceBytes)),
    );
    const metalink = `<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a.iso"><size>${SIZE}</size>
<pieces length="${pieceBytes}" type="sha-256">${hashes.map((h) => `<hash>${h}</hash>`).join('')}</pieces>
<url>${origin.url('/a.iso')}</url></file></metalink>`;
    origin.add('/a.iso.meta4', { body: Buffer.from(metalink) });
    let damaged = 0;
    const url = origin.add('/a.iso', {
      body,
      headers: { link: '</a.iso.meta4>; rel=describedby; type="application/metalink4+xml"' },
      damage(bytes, start) {
        const at = 3_500_000 - start;
        if (damaged > 0 || at < 0 || at >= bytes.length) return bytes;
        damaged++;
        return other(bytes, at);
      },
    });
    // One connection: with several, another could take over the damaged part before it arrives.
    const result = await get(url, '--connections', '1');
    expect(result).toMatchObject({ code: OK });
    expect(damaged).toBe(1);
    expect(result.stdout).toMatch(/Pieces that do not match their checksum are fetched again: 1/);
    expect(await saved('a.iso')).toBe(sha256(body));
    // The answer may have run on into further pieces.
    expect(origin.sentBytes).toBeLessThan(SIZE * 1.7);
  });

  test('show that the first source has another file, and the mirror that differed the right one', async () => {
    const body = contentOf('right', SIZE);
    const more = ['--mirror', mirror.url('/a.iso'), '--checksum', `sha-256=${sha256(body)}`];
    const { says, run } = getting(origin.url('/a.iso'), ...more);
    const held = heldUntil(() => says('is no longer used'));
    origin.add('/a.iso', { body: other(body, SIZE / 2), etag: '"one"', ...held });
    mirror.add('/a.iso', { body, etag: '"two"' });
    const result = await run();
    expect(result).toMatchObject({ code: OK });
    expect(result.stdout).toMatch(/the data received is not the file: trying the other sources/);
    expect(await saved('a.iso')).toBe(sha256(body));
  });

  test('of the whole file come from SHA256SUMS beside it, if the user asks for that', async () => {
    const body = contentOf('sums', SIZE);
    const url = origin.add('/pub/a.iso', { body });
    origin.add('/pub/SHA256SUMS', { body: Buffer.from(`${sha256(body)} *a.iso\n`) });
    const right = await get(url, '--find-checksum');
    expect(right).toMatchObject({ code: OK });
    expect(right.stdout).toMatch(/the digest is taken from .*SHA256SUMS/);
    const wrong = Buffer.from(`${sha256(other(body, 0))} *b.iso\n`);
    origin.add('/pub/SHA256SUMS', { body: wrong });
    const bad = await get(origin.add('/pub/b.iso', { body }), '--find-checksum');
    expect(bad).toMatchObject({ code: CHECKSUM });
    expect(await readdir(folder.path)).toEqual(['a.iso']);
  });

  test('count more if somebody with a key that the user trusts has signed them', async () => {
    const body = contentOf('signed', SIZE);
    const url = origin.add('/pub/a.iso', { body });
    const list = Buffer.from(`${sha256(body)} *a.iso\n`);
    origin.add('/pub/SHA256SUMS', { body: list });
    origin.add('/pub/SHA256SUMS.sign', { body: Buffer.from(SIGNATURE) });
    const key = join(keys.path, 'key.asc');
    await writeFile(key, OPENPGP_KEY);
    const good = await get(url, '--key', key);
    expect(good).toMatchObject({ code: OK });
    expect(good.stdout).toMatch(
      /Signed by Fixed Publisher \(key 3021EA40F072FC59ED3E5452E835480DBB5B46CF\)/,
    );
    expect(await saved('a.iso')).toBe(sha256(body));

    // Somebody who can change the file and the list cannot change the signature.
    const altered = other(body, SIZE / 2);
    origin.add('/pub/a.iso', { body: altered });
    origin.add('/pub/SHA256SUMS', { body: Buffer.from(`${sha256(altered)} *a.iso\n`) });
    const bad = await get(url, '--key', key, '--overwrite');
    expect(bad).toMatchObject({ code: CHECKSUM });
    expect(bad.stderr).toMatch(/not what its publisher signed/);
    expect(await saved('a.iso')).toBe(sha256(body));
    const unsigned = await get(url, '--find-checksum', '--overwrite', '--json');
    expect(unsigned).toMatchObject({ code: OK });
    expect(unsigned.stdout).toMatch(/"note":"signature-unknown-key"/);
    expect(unsigned.stdout).not.toMatch(/"vouch"/);
  });

  test('in the answer are compared with the file', async () => {
    const body = contentOf('digest', SIZE);
    const field = (of: Buffer) => `sha-256=:${createHash('sha256').update(of).digest('base64')}:`;
    const good = origin.add('/a.iso', { body, headers: { 'repr-digest': field(body) } });
    expect(await get(good)).toMatchObject({ code: OK });
    const headers = { 'repr-digest': field(other(body, 0)) };
    const bad = origin.add('/b.iso', { body, headers });
    expect(await get(bad)).toMatchObject({ code: CHECKSUM });
    expect(await readdir(folder.path)).toEqual(['a.iso']);
  });
});

describe('a server without validators', () => {
  const breaks = (count: number) => (count < 5 ? 1_000_000 : undefined);

  test('a broken download resumes after its last bytes are compared', async () => {
    const body = contentOf('bare', SIZE);
    const url = origin.add('/a.iso', { body, etag: null, breaks });
    const result = await get(url, '--json');
    expect(result).toMatchObject({ code: OK });
    expect(await saved('a.iso')).toBe(sha256(body));
    expect(origin.requests.length).toBeGreaterThan(4);
    expect(receivedBytes(result.stdout)).toBeLessThan(SIZE * 1.1);
  });

  test('a file that has changed meanwhile is fetched from the beginning', async () => {
    const body = contentOf('bare', SIZE);
    const changed = other(body, 0);
    const url = origin.add('/a.iso', {
      body,
      etag: null,
      breaks,
      damage: (bytes, start, count) =>
        count < 3 ? bytes : changed.subarray(start, start + bytes.length),
    });
    const result = await get(url);
    expect(result).toMatchObject({ code: OK });
    expect(result.stdout).toMatch(/has changed at the source/);
    expect(await saved('a.iso')).toBe(sha256(changed));
  });
});

test.each(['internal', 'disk-full', 'interrupted'])(
  'an edge whose own machine fails (%s) does not end the download: other sources have the file',
  async (code) => {
    const body = contentOf('troubled', SIZE);
    const url = origin.add('/a.iso', { body });
    const problem = JSON.stringify({ code, reason: 'there' });
    const edge = createServer((_req, res) => {
      res.writeHead(500, { 'content-type': 'application/problem+json' }).end(problem);
    }).listen(0, '127.0.0.1');
    await once(edge, 'listening');
    try {
      const { port } = edge.address() as AddressInfo;
      const result = await get(url, '--edge', `http://127.0.0.1:${port}`);
      expect(result).toMatchObject({ code: OK });
      expect(await saved('a.iso')).toBe(sha256(body));
    } finally {
      edge.close();
      edge.closeAllConnections();
    }
  },
);

test('edges that name each other are asked for their own chunks, without a hop between', async () => {
  const source = await FaultOrigin.start();
  const cluster = await Cluster.start({
    nodes: 3,
    // There are so many chunks that each node owns its share, whatever the origin's port.
    options: ['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB'],
    proxies: true,
    publicUrls: true,
  });
  try {
    const url = source.url('none', { size: SIZE });
    const edge = `http://127.0.0.1:${cluster.node(0).proxy?.port}`;
    const result = await get(url, '--edge', edge, '--edges-only', '--limit', '2M');
    expect(result).toMatchObject({ code: OK });
    expect(await saved('file.bin')).toBe(source.digest(url));
    const races = await racesOf(cluster.nodes.map((node) => node.edge));
    expect(source.sentBytes).toBeLessThan(SIZE * 1.1 + races * 64 * 1024);
    for (const node of cluster.nodes) {
      const { body } = await fetchAll(`${node.edge.url}/-/status`);
      const status = JSON.parse(body.toString()) as { bytes: { toClients: number } };
      expect(status.bytes.toClients).toBeGreaterThan(SIZE / 20);
    }
  } finally {
    await cluster.stop();
    await source.stop();
  }
});
