/** An edge behind Caddy, with the configuration that operators are given: clients speak HTTP/3. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { H2Client } from '../../fixtures/clients/h2-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import {
  type CertificatePair,
  makeCertificate,
  trustOption,
} from '../../fixtures/origins/certificate.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { Caddy, caddyOrComplain, resetsBrokenBodies } from '../../fixtures/tools/caddy.ts';
import { DEPLOY } from '../../fixtures/tools/repository.ts';
import { LONGEST_WAIT_MS } from '../../fixtures/until.ts';

const HOST = 'edge.example.org';
const WHAT = 'HTTP/3 to a proxy before an edge';
/** Faults of an origin that appear in the middle of a body, with a length and without one. */
const BREAKS = ['changed-in-the-middle', 'chunked-broken'];

/** Transfers that the edge allows a client at once. */
const MOST = 3;

const available = caddyOrComplain(WHAT) && browserOrComplain(WHAT);
const { afterAll, beforeAll, test } = testsWhere(available);
const safely = testsWhere(available && resetsBrokenBodies());

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FaultOrigin;
let edge: EdgeProcess;
let caddy: Caddy;
let pair: CertificatePair;
let browser: Awaited<ReturnType<typeof launchBrowser>>;
let h2: H2Client | undefined;
let page: Awaited<ReturnType<typeof browser.newPage>>;

beforeAll(async () => {
  [folder, origin] = await Promise.all([temporaryFolder(), FaultOrigin.start()]);
  pair = makeCertificate(folder.path, 'edge', [HOST]);
  edge = await EdgeProcess.start([
    ...['--allow-origin', '127.0.0.1', '--trusted-proxy', '127.0.0.1', '--chunk-size', '64KiB'],
    ...['--public-url', `https://${HOST}`, '--client-transfers', `${MOST}`],
  ]);
  const text = await readFile(join(DEPLOY, 'caddy/Caddyfile'), 'utf8');
  const site = text.replace('127.0.0.1:3125 {', `127.0.0.1:${new URL(edge.url).port} {`);
  caddy = await Caddy.start(join(folder.path, 'caddy'), site, HOST, pair);
  browser = await launchBrowser(undefined, [
    `--origin-to-force-quic-on=${HOST}:${caddy.port}`,
    `--host-resolver-rules=MAP ${HOST} 127.0.0.1`,
    await trustOption(pair.cert),
  ]);
  page = await browser.newPage();
  page.setDefaultTimeout(LONGEST_WAIT_MS);
  await page.goto(`https://${HOST}:${caddy.port}/-/live`);
});

afterAll(async () => {
  await h2?.close();
  await browser?.close();
  await caddy?.stop();
  await edge?.stop();
  await origin?.stop();
  await folder?.remove();
});

/** Connects a client that checks where streams end, once; the browser has another address. */
async function overTcp(): Promise<H2Client> {
  h2 ??= await H2Client.connect(`https://localhost:${caddy.port}`, pair.cert, '127.0.0.2');
  return h2;
}

/** Fetches a file in the page. @throws Error if the body breaks off */
function fetched(url: string, range?: string) {
  const headers: Record<string, string> = range === undefined ? {} : { range };
  return page.evaluate(
    async ([target, sent]) => {
      performance.clearResourceTimings();
      const answer = await fetch(target, { headers: sent, cache: 'no-store' });
      const body = await answer.arrayBuffer();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
      const [entry] = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
      const hex = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      return { status: answer.status, protocol: entry?.nextHopProtocol, digest: hex };
    },
    [`https://${HOST}:${caddy.port}/${url}`, headers] as const,
  );
}

test('a browser that was told of HTTP/3 gets whole files and ranges by it', async () => {
  const client = await overTcp();
  const { headers } = await client.fetch('/-/live', { ':authority': HOST });
  expect(headers['alt-svc']).toContain(`h3=":${caddy.port}"`);
  const url = origin.url('none', { seed: 'quic', size: 3_000_000 });
  const whole = { status: 200, protocol: 'h3', digest: origin.digest(url) };
  expect(await fetched(url)).toEqual(whole);
  const digest = sha256(origin.content(url).subarray(65_000, 200_001));
  expect(await fetched(url, 'bytes=65000-200000')).toEqual({ ...whole, status: 206, digest });
});

// A stream may be reset before its header was read.
const RESET = { complete: false };

safely.test('a body that breaks off does not end as if it were complete', async () => {
  const client = await overTcp();
  for (const fault of BREAKS) {
    // Each protocol has a file of its own: the edge knows a changed file by the second request.
    const path = `/${origin.url(fault, { seed: 'h2' })}`;
    const { complete } = await client.fetch(path, { ':authority': HOST }).catch(() => RESET);
    expect([fault, complete]).toEqual([fault, false]);
    const got = await fetched(origin.url(fault, { seed: 'h3' })).catch(() => RESET);
    expect([fault, got]).toEqual([fault, RESET]);
  }
});

test('a client has limits of its own over each protocol, whatever addresses it claims', async () => {
  const client = await overTcp();
  const url = origin.url('gate', { seed: 'held', size: 3_000_000 });
  // The origin holds the bodies, so that all but one of these are transfers of the client at once.
  const claims = Array.from({ length: MOST + 1 }, (_, i) => `192.0.2.${i}`);
  const held = claims.map((claim) =>
    client.open(`/${url}`, { ':authority': HOST, 'x-forwarded-for': claim }),
  );
  const refusal = async (answer: Promise<{ status: number }>) => {
    if ((await answer).status !== 429) throw new Error('The edge has admitted the request.');
  };
  await Promise.any(held.map(refusal));
  const other = origin.url('none', { seed: 'other', size: 100_000 });
  const whole = { status: 200, protocol: 'h3', digest: origin.digest(other) };
  expect(await fetched(other)).toEqual(whole);
  await page.evaluate(
    async ([target, ...names]) => {
      const ask = async (name: string) => {
        const headers = { 'x-forwarded-for': name };
        const { status } = await fetch(target as string, { headers, cache: 'no-store' });
        if (status !== 429) throw new Error('The edge has admitted the request.');
      };
      await Promise.any(names.map(ask));
    },
    [`https://${HOST}:${caddy.port}/${url}`, ...claims],
  );
  origin.openGate();
  for (const answer of await Promise.all(held)) answer.stream.close();
});
