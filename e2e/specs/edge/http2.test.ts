/** HTTP/2 for clients: they get the right bytes, to the end or not at all. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { readAll } from '../../fixtures/clients/h2-client.ts';
import { FRAME } from '../../fixtures/clients/h2-frames.ts';
import { programOrComplain } from '../../fixtures/not-tested.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { Namespace, namespacesOrComplain } from '../../fixtures/programs/namespace.ts';
import { active, H2Stage } from '../../fixtures/stages/h2-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { LONGEST_WAIT_MS, until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;
/** Error code (RFC 9113 7). */
const INTERNAL_ERROR = 2;

const withNghttp = testsWhere(programOrComplain('nghttp', 'HTTP/2 with a client of another make'));
const withBrowser = testsWhere(browserOrComplain('HTTP/2 with a browser'));
const withNamespaces = testsWhere(
  namespacesOrComplain('clients of HTTP/2 that vanish from the network'),
);
const stage = new H2Stage();

/** Runs a program to its end. @returns its standard output @throws Error if the program fails */
async function run(command: string, args: readonly string[]): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 16 * MiB } as const;
  return (await promisify(execFile)(command, args, options)).stdout;
}

describe('clients of HTTP/2 get the right bytes', () => {
  test('curl, over one connection, and over HTTP/1.1 if it asks for that', async () => {
    const edge = await stage.start();
    const url = stage.origin.url('none', { seed: 'curl', size: 3 * MiB });
    for (const [option, version] of [
      ['--http2', '2'],
      ['--http1.1', '1.1'],
    ] as const) {
      const target = `${edge.secureUrl}/${url}`;
      const outputs = ['-o', join(stage.folder, 'a'), '-o', join(stage.folder, 'b')];
      const out = await run('curl', [
        ...['-sS', option, '--cacert', stage.pair.cert, '-w', '%{http_version} ', ...outputs],
        ...[target, target],
      ]);
      expect(out.toString()).toBe(`${version} ${version} `);
      for (const name of ['a', 'b']) {
        expect(sha256(await readFile(join(stage.folder, name)))).toBe(stage.origin.digest(url));
      }
    }
  });

  withNghttp.test('nghttp, with windows of its own', async () => {
    const edge = await stage.start();
    const url = stage.origin.url('none', { seed: 'nghttp', size: 3 * MiB });
    const args = ['-w', '20', '-W', '22', '--no-dep', `${edge.secureUrl}/${url}`];
    expect(sha256(await run('nghttp', args))).toBe(stage.origin.digest(url));
  });

  test('many streams of one connection at once, ranges among them', async () => {
    const edge = await stage.start();
    const client = await stage.connect(edge);
    const urls = Array.from({ length: 30 }, (_, i) =>
      stage.origin.url('none', { seed: `stream-${i}`, size: MiB }),
    );
    const fetched = await Promise.all(urls.map((url) => client.fetch(`/${url}`)));
    expect(fetched.map(({ digest }) => digest)).toEqual(
      urls.map((url) => stage.origin.digest(url)),
    );
    const [url = ''] = urls;
    const whole = fetched[0]?.body ?? Buffer.alloc(0);
    const part = await client.fetch(`/${url}`, { range: 'bytes=65000-200000' });
    expect([part.status, part.complete]).toEqual([206, true]);
    expect(part.digest).toBe(sha256(whole.subarray(65_000, 200_001)));
    const parts = await client.fetch(`/${url}`, { range: 'bytes=0-9,70000-70009' });
    expect(parts.body.includes(whole.subarray(70_000, 70_010))).toBe(true);
    expect(String(parts.headers['content-type'])).toMatch(/^multipart\/byteranges/);
  });

  withBrowser.test('Chromium, which chooses HTTP/2', async () => {
    const edge = await stage.start();
    const url = stage.origin.url('none', { seed: 'chromium', size: 2 * MiB });
    const browser = await launchBrowser();
    stage.ending.push(() => browser.close());
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    page.setDefaultTimeout(LONGEST_WAIT_MS);
    await page.goto(`${edge.secureUrl}/-/live`);
    const seen = await page.evaluate(async (target) => {
      const body = await (await fetch(target)).arrayBuffer();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
      const [entry] = performance.getEntriesByName(target) as PerformanceResourceTiming[];
      const hex = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      return { hex, protocol: entry?.nextHopProtocol };
    }, `${edge.secureUrl}/${url}`);
    expect(seen).toEqual({ hex: stage.origin.digest(url), protocol: 'h2' });
  });

  test('no response has a connection-specific field', async () => {
    const edge = await stage.start('--client-transfers', '1');
    const client = await stage.connect(edge);
    const good = `/${stage.origin.url('none')}`;
    const { headers } = await client.fetch(good);
    const answers = [
      await client.fetch(good, { range: 'bytes=5-' }),
      await client.fetch(good, { ':method': 'HEAD' }),
      await client.fetch(good, { 'if-none-match': headers.etag }),
      await client.fetch(good, { range: 'bytes=99999999-' }),
      await client.fetch(good, { ':method': 'PUT' }),
      await client.fetch(good, { 'x-bigfile': '1' }),
      await client.fetch(`/${stage.origin.url('not-found')}`),
      await client.fetch(`/${stage.origin.url('no-validators', { size: 1000 })}`),
      ...(await Promise.all(
        ['/', '/-/status', '/-/edges', '/-/nothing'].map((p) => client.fetch(p)),
      )),
    ];
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual([206, 200, 304, 416, 405, 403, 404, 200, 200, 200, 200, 404]);
    for (const answer of answers) {
      expect(answer.complete).toBe(true);
      for (const name of ['connection', 'keep-alive', 'transfer-encoding', 'upgrade']) {
        expect(answer.headers).not.toHaveProperty([name]);
      }
    }
  });

  test('a name that is not ASCII, as curl sends it', async () => {
    const edge = await stage.start();
    const url = stage.origin.url('none', { name: encodeURIComponent('caf\u00e9.bin') });
    const decoded = decodeURIComponent(url);
    const out = await run('curl', [
      '-sS',
      '--cacert',
      stage.pair.cert,
      `${edge.secureUrl}/${decoded}`,
    ]);
    expect(sha256(out)).toBe(stage.origin.digest(url));
  });
});

/** Faults of an origin that appear in the middle of a body, with and without a length. */
const IN_THE_MIDDLE = [
  ...['wrong-start-later', 'changed-in-the-middle', 'conditions-ignored', 'etag-missing-later'],
  ...['chunked-broken', 'wrong-total'],
];

describe('a body that cannot be completed', () => {
  test('no fault of an origin lets a stream end as if it were complete', async () => {
    const edge = await stage.start();
    const client = await stage.connect(edge);
    // Perhaps not even a header arrives.
    const none = { complete: false };
    const outcomes = await Promise.all(
      IN_THE_MIDDLE.map(async (fault) => {
        const { complete } = await client.fetch(`/${stage.origin.url(fault)}`).catch(() => none);
        return { fault, complete };
      }),
    );
    expect(outcomes.filter(({ complete }) => complete)).toEqual([]);
    // The connection still works.
    const url = stage.origin.url('none', { seed: 'afterwards' });
    expect((await client.fetch(`/${url}`)).digest).toBe(stage.origin.digest(url));
  });

  test('ends with RST_STREAM and never END_STREAM, even where no length was announced', async () => {
    const edge = await stage.start();
    const client = await stage.frames(edge);
    const good = stage.origin.url('none', { seed: 'neighbour', size: 4 * MiB });
    client.request(1, `/${stage.origin.url('chunked-broken')}`);
    client.request(3, `/${good}`);
    const { payload } = await client.frame(FRAME.reset, 1);
    expect(payload.readUInt32BE()).toBe(INTERNAL_ERROR);
    expect(client.body(1).length).toBeGreaterThan(0);
    expect(client.ended(1)).toBe(false);
    await until(() => client.ended(3));
    expect(sha256(client.body(3))).toBe(stage.origin.digest(good));
  });

  test('the bytes received of a stream that is sent elsewhere are right', async () => {
    const edge = await stage.start();
    const client = await stage.frames(edge, 300_000);
    const url = stage.origin.url('none', { seed: 'offloaded', size: 8 * MiB });
    client.request(1, `/${url}`, { prefer: 'resume-on-reset' });
    await until(() => client.body(1).length >= 300_000);
    await stage.drain(edge);
    await client.frame(FRAME.reset, 1);
    expect(client.ended(1)).toBe(false);
    const body = client.body(1);
    expect(sha256(body)).toBe(sha256(stage.origin.content(url).subarray(0, body.length)));
  });
});

describe('ending', () => {
  /** Enough time for open streams on a busy machine. */
  const PATIENT = ['--grace', '2m'];

  test('draining sends GOAWAY; an open stream is completed', async () => {
    const edge = await stage.start(...PATIENT);
    const client = await stage.frames(edge, 100_000);
    const url = stage.origin.url('none', { seed: 'drained', size: 2 * MiB });
    client.request(1, `/${url}`);
    await until(() => client.body(1).length >= 100_000);
    await stage.drain(edge);
    const { payload } = await client.frame(FRAME.goAway, 0);
    expect(payload.readUInt32BE(4)).toBe(0);
    client.openWindow(1, 2 * MiB);
    await until(() => client.ended(1));
    expect(sha256(client.body(1))).toBe(stage.origin.digest(url));
    await until(() => client.closed);
    // A new client is refused.
    const { status } = await (await stage.connect(edge)).fetch(`/${url}`);
    expect(status).toBe(503);
  });

  test('on SIGTERM open streams are completed, and the process ends', async () => {
    const edge = await stage.start(...PATIENT);
    const client = await stage.connect(edge);
    const url = stage.origin.url('none', { seed: 'stopped', size: 8 * MiB });
    const { stream } = await client.open(`/${url}`);
    const stopped = edge.stop('SIGTERM');
    expect((await readAll(stream)).digest).toBe(stage.origin.digest(url));
    expect(await stopped).toBe(0);
  });
});

describe('a client of HTTP/2 that vanishes', () => {
  withNamespaces.test('is reaped with all of its streams, as one client', async () => {
    const far = new Namespace();
    stage.ending.push(() => far.remove());
    const edge = await stage.start('--host', '0.0.0.0', '--client-rate', '4MiB/s');
    const target = `https://${far.hostAddress}:${new URL(edge.secureUrl).port}/${stage.origin.url('none', { size: 32 * MiB })}`;
    const outputs = ['-o', '/dev/null', '-o', '/dev/null', '-o', '/dev/null'];
    const urls = [target, target, target];
    far.spawn('curl', ['-sSk', '--http2', '--parallel', ...outputs, ...urls]);
    await until(async () => (await active(edge)) === 3);
    far.cut();
    await until(async () => (await edge.status()).clients.purged > 0);
    await until(async () => (await active(edge)) === 0);
    expect(await edge.status()).toMatchObject({ clients: { purged: 1 } });
    await edge.logged(/the client has vanished/);
  });
});
