/** HTTP/2 for clients: the rules for connections of HTTP/1.1 hold for streams. */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { H2Client, readAll } from '../../fixtures/clients/h2-client.ts';
import { END_STREAM, FRAME, H2Frames } from '../../fixtures/clients/h2-frames.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { programOrComplain } from '../../fixtures/not-tested.ts';
import { type CertificatePair, makeCertificate } from '../../fixtures/origins/certificate.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { Namespace, namespacesOrComplain } from '../../fixtures/programs/namespace.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { LONGEST_WAIT_MS, until } from '../../fixtures/until.ts';

const TOKEN = 'token of the administrator';
const MiB = 1024 * 1024;
/** Error codes (RFC 9113 7). */
const [PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED_STREAM, ENHANCE_YOUR_CALM] = [1, 2, 7, 11];

const withNghttp = testsWhere(programOrComplain('nghttp', 'HTTP/2 with a client of another make'));
const withBrowser = testsWhere(browserOrComplain('HTTP/2 with a browser'));
const withNamespaces = testsWhere(
  namespacesOrComplain('clients of HTTP/2 that vanish from the network'),
);

let origin: FaultOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let pair: CertificatePair;
const ending: (() => unknown)[] = [];

beforeAll(async () => {
  origin = await FaultOrigin.start();
  folder = await temporaryFolder();
  pair = makeCertificate(folder.path, 'edge');
  await writeFile(join(folder.path, 'token'), TOKEN);
});

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

afterAll(async () => {
  await origin.stop();
  await folder.remove();
});

async function start(...options: string[]): Promise<EdgeProcess> {
  const edge = await EdgeProcess.start([
    ...['--tls-cert', pair.cert, '--tls-key', pair.key, '--http-port', '0'],
    ...['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB'],
    ...['--admin-token-file', join(folder.path, 'token'), ...options],
  ]);
  ending.push(() => edge.stop('SIGKILL'));
  return edge;
}

async function connect(edge: EdgeProcess): Promise<H2Client> {
  const client = await H2Client.connect(edge.secureUrl, pair.cert);
  ending.push(() => client.close());
  return client;
}

async function frames(edge: EdgeProcess, streamWindow?: number): Promise<H2Frames> {
  const client = await H2Frames.connect(edge.secureUrl, streamWindow);
  ending.push(() => client.destroy());
  return client;
}

/** Runs a program to its end. @returns its standard output @throws Error if the program fails */
async function run(command: string, args: readonly string[]): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 16 * MiB } as const;
  return (await promisify(execFile)(command, args, options)).stdout;
}

const drain = (edge: EdgeProcess) =>
  fetch(`${edge.url}/-/drain`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } });
const active = async (edge: EdgeProcess) => (await edge.status()).transfers.active;

describe('clients of HTTP/2 get the right bytes', () => {
  test('curl, over one connection, and over HTTP/1.1 if it asks for that', async () => {
    const edge = await start();
    const url = origin.url('none', { seed: 'curl', size: 3 * MiB });
    for (const [option, version] of [
      ['--http2', '2'],
      ['--http1.1', '1.1'],
    ] as const) {
      const target = `${edge.secureUrl}/${url}`;
      const outputs = ['-o', join(folder.path, 'a'), '-o', join(folder.path, 'b')];
      const out = await run('curl', [
        ...['-sS', option, '--cacert', pair.cert, '-w', '%{http_version} ', ...outputs],
        ...[target, target],
      ]);
      expect(out.toString()).toBe(`${version} ${version} `);
      for (const name of ['a', 'b']) {
        expect(sha256(await readFile(join(folder.path, name)))).toBe(origin.digest(url));
      }
    }
  });

  withNghttp.test('nghttp, with windows of its own', async () => {
    const edge = await start();
    const url = origin.url('none', { seed: 'nghttp', size: 3 * MiB });
    const args = ['-w', '20', '-W', '22', '--no-dep', `${edge.secureUrl}/${url}`];
    expect(sha256(await run('nghttp', args))).toBe(origin.digest(url));
  });

  test('many streams of one connection at once, ranges among them', async () => {
    const edge = await start();
    const client = await connect(edge);
    const urls = Array.from({ length: 30 }, (_, i) =>
      origin.url('none', { seed: `stream-${i}`, size: MiB }),
    );
    const fetched = await Promise.all(urls.map((url) => client.fetch(`/${url}`)));
    expect(fetched.map(({ digest }) => digest)).toEqual(urls.map((url) => origin.digest(url)));
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
    const edge = await start();
    const url = origin.url('none', { seed: 'chromium', size: 2 * MiB });
    const browser = await launchBrowser();
    ending.push(() => browser.close());
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
    expect(seen).toEqual({ hex: origin.digest(url), protocol: 'h2' });
  });

  test('no response has a connection-specific field', async () => {
    const edge = await start('--client-transfers', '1');
    const client = await connect(edge);
    const good = `/${origin.url('none')}`;
    const { headers } = await client.fetch(good);
    const answers = [
      await client.fetch(good, { range: 'bytes=5-' }),
      await client.fetch(good, { ':method': 'HEAD' }),
      await client.fetch(good, { 'if-none-match': headers.etag }),
      await client.fetch(good, { range: 'bytes=99999999-' }),
      await client.fetch(good, { ':method': 'PUT' }),
      await client.fetch(good, { 'x-bigfile': '1' }),
      await client.fetch(`/${origin.url('not-found')}`),
      await client.fetch(`/${origin.url('no-validators', { size: 1000 })}`),
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
    const edge = await start();
    const url = origin.url('none', { name: encodeURIComponent('caf\u00e9.bin') });
    const decoded = decodeURIComponent(url);
    const out = await run('curl', ['-sS', '--cacert', pair.cert, `${edge.secureUrl}/${decoded}`]);
    expect(sha256(out)).toBe(origin.digest(url));
  });
});

/** Faults of an origin that appear in the middle of a body, with and without a length. */
const IN_THE_MIDDLE = [
  ...['wrong-start-later', 'changed-in-the-middle', 'conditions-ignored', 'etag-missing-later'],
  ...['chunked-broken', 'wrong-total'],
];

describe('a body that cannot be completed', () => {
  test('no fault of an origin lets a stream end as if it were complete', async () => {
    const edge = await start();
    const client = await connect(edge);
    // Perhaps not even a header arrives.
    const none = { complete: false };
    const outcomes = await Promise.all(
      IN_THE_MIDDLE.map(async (fault) => {
        const { complete } = await client.fetch(`/${origin.url(fault)}`).catch(() => none);
        return { fault, complete };
      }),
    );
    expect(outcomes.filter(({ complete }) => complete)).toEqual([]);
    // The connection still works.
    const url = origin.url('none', { seed: 'afterwards' });
    expect((await client.fetch(`/${url}`)).digest).toBe(origin.digest(url));
  });

  test('ends with RST_STREAM and never END_STREAM, even where no length was announced', async () => {
    const edge = await start();
    const client = await frames(edge);
    const good = origin.url('none', { seed: 'neighbour', size: 4 * MiB });
    client.request(1, `/${origin.url('chunked-broken')}`);
    client.request(3, `/${good}`);
    const { payload } = await client.frame(FRAME.reset, 1);
    expect(payload.readUInt32BE()).toBe(INTERNAL_ERROR);
    expect(client.body(1).length).toBeGreaterThan(0);
    expect(client.ended(1)).toBe(false);
    await until(() => client.ended(3));
    expect(sha256(client.body(3))).toBe(origin.digest(good));
  });

  test('the bytes received of a stream that is sent elsewhere are right', async () => {
    const edge = await start();
    const client = await frames(edge, 300_000);
    const url = origin.url('none', { seed: 'offloaded', size: 8 * MiB });
    client.request(1, `/${url}`, { prefer: 'resume-on-reset' });
    await until(() => client.body(1).length >= 300_000);
    await drain(edge);
    await client.frame(FRAME.reset, 1);
    expect(client.ended(1)).toBe(false);
    const body = client.body(1);
    expect(sha256(body)).toBe(sha256(origin.content(url).subarray(0, body.length)));
  });
});

describe('clients that take little, or too much', () => {
  test('a client that reads nothing slows the fetch, and harms no other stream', async () => {
    const edge = await start('--cache-memory', '0');
    const client = await frames(edge, 65_535);
    const slow = origin.url('none', { seed: 'slow', size: 40 * MiB });
    client.request(1, `/${slow}`);
    await until(() => client.body(1).length >= 65_535);
    const good = origin.url('none', { seed: 'good', size: 8 * MiB });
    client.request(3, `/${good}`);
    client.openWindow(3, 8 * MiB);
    await until(() => client.ended(3));
    expect(sha256(client.body(3))).toBe(origin.digest(good));
    // The client's window is 16 MiB and the other file 8 MiB; little else is in flight.
    expect((await edge.status()).bytes.fromOrigins).toBeLessThan((16 + 8 + 4) * MiB);
    expect(client.body(1).length).toBe(65_535);
    client.openWindow(1, 40 * MiB);
    await until(() => client.ended(1));
    expect(sha256(client.body(1))).toBe(origin.digest(slow));
  });

  test('streams count as transfers of their client', async () => {
    const edge = await start('--client-transfers', '2');
    const client = await connect(edge);
    const path = `/${origin.url('none', { seed: 'limited', size: 32 * MiB })}`;
    const [first, second] = [await client.open(path), await client.open(path)];
    expect([first.status, second.status]).toEqual([200, 200]);
    const third = await client.fetch(path);
    expect(third.status).toBe(429);
    first.stream.close(8);
    await until(async () => (await active(edge)) === 1);
    expect((await client.open(path)).status).toBe(200);
  });

  test('more streams than a connection may have are refused', async () => {
    const edge = await start('--client-transfers', '0', '--client-requests', '0');
    const client = await frames(edge, 0);
    const path = `/${origin.url('none', { seed: 'crowd', size: MiB })}`;
    for (let i = 0; i <= 100; i++) client.request(2 * i + 1, path);
    const { payload } = await client.frame(FRAME.reset, 201);
    expect(payload.readUInt32BE()).toBe(REFUSED_STREAM);
    await until(async () => (await active(edge)) === 100);
  });

  test('rapid reset: a client that opens and resets streams without end gets a GOAWAY', async () => {
    const edge = await start('--client-requests', '0');
    const client = await frames(edge);
    const good = await connect(edge);
    const path = `/${origin.url('none', { seed: 'rapid' })}`;
    let sent = 0;
    while (!client.closed && sent < 5000) {
      // Leave nothing unread: the kernel would reset the connection and lose the GOAWAY.
      await client.inOnePiece(() => {
        for (let i = 0; i < 50; i++, sent++) {
          client.request(2 * sent + 1, path);
          client.reset(2 * sent + 1);
        }
      });
    }
    const goAway = client.frames.find(({ type }) => type === FRAME.goAway);
    expect([INTERNAL_ERROR, ENHANCE_YOUR_CALM]).toContain(goAway?.payload.readUInt32BE(4));
    const { transfers } = await edge.status();
    expect(transfers.requests).toBeLessThan(500);
    expect(edge.log.filter((line) => /internal error/.test(line))).toEqual([]);
    const url = origin.url('none', { seed: 'calm' });
    expect((await good.fetch(`/${url}`)).digest).toBe(origin.digest(url));
    await until(async () => (await active(edge)) === 0);
  });

  test('headers that are too large or never end are refused, and the edge keeps running', async () => {
    const edge = await start();
    const client = await frames(edge);
    client.request(1, '/-/live', { 'x-filler': 'x'.repeat(10_000), 'x-more': 'y'.repeat(6000) });
    await until(() => client.ended(1));
    const big = await connect(edge);
    const many = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`x-filler-${i}`, 'x'.repeat(4000)]),
    );
    const outcome = await big.fetch('/-/live', many).then(
      ({ status }) => status,
      () => 'refused',
    );
    expect([431, 'refused']).toContain(outcome);
    // CONTINUATION frames without END_HEADERS (RFC 9113 6.10): memory for them is limited.
    const endless = await frames(edge);
    endless.send(FRAME.headers, END_STREAM, 1, Buffer.alloc(0));
    for (let i = 0; i < 200 && !endless.closed; i++) endless.send(9, 0, 1, Buffer.alloc(16_000));
    await until(() => endless.closed);
    expect((await fetch(`${edge.url}/-/live`)).status).toBe(200);
  });

  test('a Host that differs from :authority is a protocol error', async () => {
    const client = await frames(await start());
    client.request(1, '/-/live', { host: 'elsewhere.example' });
    expect((await client.frame(FRAME.reset, 1)).payload.readUInt32BE()).toBe(PROTOCOL_ERROR);
  });

  test('requests between nodes are refused: their interim responses are not for HTTP/2 streams', async () => {
    const edge = await start('--peers', '127.0.0.1:1');
    const client = await connect(edge);
    const { status } = await client.fetch(`/${origin.url('none')}`, { 'x-bigfile': '1' });
    expect(status).toBe(403);
  });
});

describe('ending', () => {
  /** Enough time for open streams on a busy machine. */
  const PATIENT = ['--grace', '2m'];

  test('draining sends GOAWAY; an open stream is completed', async () => {
    const edge = await start(...PATIENT);
    const client = await frames(edge, 100_000);
    const url = origin.url('none', { seed: 'drained', size: 2 * MiB });
    client.request(1, `/${url}`);
    await until(() => client.body(1).length >= 100_000);
    await drain(edge);
    const { payload } = await client.frame(FRAME.goAway, 0);
    expect(payload.readUInt32BE(4)).toBe(0);
    client.openWindow(1, 2 * MiB);
    await until(() => client.ended(1));
    expect(sha256(client.body(1))).toBe(origin.digest(url));
    await until(() => client.closed);
    // A new client is refused.
    const { status } = await (await connect(edge)).fetch(`/${url}`);
    expect(status).toBe(503);
  });

  test('on SIGTERM open streams are completed, and the process ends', async () => {
    const edge = await start(...PATIENT);
    const client = await connect(edge);
    const url = origin.url('none', { seed: 'stopped', size: 8 * MiB });
    const { stream } = await client.open(`/${url}`);
    const stopped = edge.stop('SIGTERM');
    expect((await readAll(stream)).digest).toBe(origin.digest(url));
    expect(await stopped).toBe(0);
  });
});

describe('a client of HTTP/2 that vanishes', () => {
  withNamespaces.test('is reaped with all of its streams, as one client', async () => {
    const far = new Namespace();
    ending.push(() => far.remove());
    const edge = await start('--host', '0.0.0.0', '--client-rate', '4MiB/s');
    const target = `https://${far.hostAddress}:${new URL(edge.secureUrl).port}/${origin.url('none', { size: 32 * MiB })}`;
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
