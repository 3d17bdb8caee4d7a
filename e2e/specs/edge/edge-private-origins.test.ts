/** Origins that let only the edge in, and second origins. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { Bucket } from '../../fixtures/origins/bucket.ts';
import { makeCertificate } from '../../fixtures/origins/certificate.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import type { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { outcome, RulesStage } from '../../fixtures/stages/rules-stage.ts';

const LINK_SECRET = 'a secret of publishers';
const KEYS = { region: 'eu-central-1', accessKeyId: 'an-id', secretAccessKey: 'a/secret+key' };
const BODY = contentOf('private', 400_000);
const stage = await RulesStage.set();
const ends: (() => Promise<unknown>)[] = [];

afterAll(() => Promise.all(ends.map((end) => end())));

async function startBucket(): Promise<Bucket> {
  const bucket = await Bucket.start(KEYS);
  ends.push(() => bucket.stop());
  bucket.files.set('/a%20(b)/file.iso', { body: BODY, etag: '"one"' });
  return bucket;
}

async function startEdge(entries: readonly object[]): Promise<EdgeProcess> {
  const [keys, secret] = [join(stage.folder, 'keys.json'), join(stage.folder, 'secret')];
  await writeFile(secret, LINK_SECRET);
  await writeFile(keys, JSON.stringify({ origins: entries }));
  await chmod(keys, 0o600);
  return stage.startEdge(
    ...['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB', '--cache-memory', '0'],
    ...['--origin-keys-file', keys, '--link-secret-file', secret],
  );
}

function linkTo(edge: EdgeProcess, url: string): string {
  const permit = signLink(new URL(url), Math.ceil(Date.now() / 1000) + 3600, false, LINK_SECRET);
  return `${edge.url}/-/signed/${permit}/${url}`;
}

test.each([
  ['parts have status 206', false],
  ['parts have status 200', true],
])(
  'a private bucket is read by signature, and given to holders of a link alone: %s',
  async (_name, mislabels) => {
    const bucket = await startBucket();
    bucket.mislabels = mislabels;
    const edge = await startEdge([bucket.entry()]);
    const url = `${bucket.base}/a%20(b)/file.iso`;
    expect((await fetchAll(url)).status).toBe(403);
    expect(await outcome(edge.prefixed(url))).toBe('origin-not-allowed');
    const link = linkTo(edge, url);
    for (let i = 0; i < 2; i++) {
      const got = await fetchAll(link);
      expect([got.status, got.digest]).toEqual([200, sha256(BODY)]);
      // The client has shown no key, and gets none to see.
      expect(JSON.stringify(got.headers)).not.toContain(KEYS.accessKeyId);
    }
    expect((await fetchAll(linkTo(edge, `${url}?versionId=a%2Bb`))).digest).toBe(sha256(BODY));
    expect((await fetchAll(link, { method: 'HEAD' })).status).toBe(200);
    expect(await outcome(edge.prefixed(url))).toBe('origin-not-allowed');
    expect([bucket.wrong, bucket.right > 8]).toEqual([1, true]);
    const shown = JSON.stringify([edge.log, await edge.status()]);
    for (const secret of [KEYS.accessKeyId, KEYS.secretAccessKey])
      expect(shown).not.toContain(secret);
  },
);

test('a second origin continues the same version, and never another one', async () => {
  const [bucket, second] = [await startBucket(), await FileServer.start()];
  ends.push(() => second.stop());
  const edge = await startEdge([
    bucket.entry({ public: true, fallback: `${second.url('/copy')}` }),
  ]);
  const url = edge.prefixed(`${bucket.base}/a%20(b)/file.iso`);
  const publish = (body: Buffer, etag: string) =>
    second.add('/copy/a%20(b)/file.iso', { body, etag });
  publish(BODY, '"one"');
  expect((await fetchAll(url, { headers: { range: 'bytes=0-9' } })).status).toBe(206);
  // The first one breaks off in the middle of a chunk and is gone.
  bucket.breaksAfter = 1000;
  const broken = fetchAll(url);
  await bucket.stop();
  expect((await broken).digest).toBe(sha256(BODY));
  const before = second.requests.length;
  expect(before).toBeGreaterThan(0);
  // Other bytes with another tag are another file: whole, or not at all.
  const other = contentOf('other', BODY.length);
  publish(other, '"two"');
  const [condition, mixed] = [{ 'if-range': '"one"', range: 'bytes=100000-' }, await fetchAll(url)];
  if (mixed.complete) expect(mixed.digest).toBe(sha256(other));
  const resumed = await fetchAll(url, { headers: condition });
  expect([resumed.status, resumed.digest]).toEqual([200, sha256(other)]);
});

test('a certificate and a fixed field let the edge in, chunks and tunnels', async () => {
  const own = makeCertificate(stage.folder, 'edge-client');
  const theirs = makeCertificate(stage.folder, 'origin');
  const pem = (path: string) => readFileSync(path);
  const tls = { cert: pem(theirs.cert), key: pem(theirs.key), ca: pem(own.cert) };
  const origin = createServer(
    { ...tls, requestCert: true, rejectUnauthorized: false },
    (req, res) => {
      const isIn = (req.socket as TLSSocket).authorized && req.headers['x-token'] === 'secret';
      const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? '') ?? [];
      if (!isIn) return res.writeHead(403).end();
      if (from === undefined || req.url === '/tunnel') return res.writeHead(200).end(BODY);
      const end = to ? Math.min(BODY.length, Number(to) + 1) : BODY.length;
      const range = `bytes ${from}-${end - 1}/${BODY.length}`;
      res.writeHead(206, {
        etag: '"1"',
        'content-range': range,
        'content-length': end - Number(from),
      });
      return res.end(BODY.subarray(Number(from), end));
    },
  ).listen(0, '127.0.0.1');
  await once(origin, 'listening');
  ends.push(async () => {
    origin.closeAllConnections();
    await once(origin.close(), 'close');
  });
  const base = `https://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  const entry = { origin: base, public: true, fields: { 'X-Token': 'secret' } };
  const edge = await startEdge([
    { ...entry, tls: { cert: own.cert, key: own.key, ca: theirs.cert } },
  ]);
  for (const path of ['/ranges', '/tunnel']) {
    expect((await fetchAll(edge.prefixed(`${base}${path}`))).digest).toBe(sha256(BODY));
  }
});
