/** The engine in the extension, in a real Chromium: no wrong byte, and no fetch in vain. */

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { classOf, FAULT_NAMES, versionsOf } from '../../fixtures/faults/faults.ts';
import { BODY_FAULTS } from '../../fixtures/faults/faults-bodies.ts';
import { RANGE_FAULTS } from '../../fixtures/faults/faults-ranges.ts';
import { VERSION_FAULTS } from '../../fixtures/faults/faults-versions.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { PacedOrigin } from '../../fixtures/origins/paced-origin.ts';
import { NAMES_FOR_NODE, named } from '../../fixtures/origins/public-names.ts';
import {
  buildEngineExtension,
  killBrowser,
  type Offered,
  type ShownInBrowser,
  Taker,
} from '../../fixtures/pages/engine-extension.ts';
import { ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MIB = 1024 * 1024;
const SEED = testSeed('extension engine test');

const folder = await mkdtemp(join(tmpdir(), 'millrace-engine-'));
const extension = await buildEngineExtension(folder);
const browser = await ExtensionBrowser.start({ extension });
const taker = new Taker(browser);
const origin = await FaultOrigin.start();
const ALLOW = ['--allow-origin', 'files.example'];
const edge = await EdgeProcess.start([...ALLOW, '--chunk-size', '256KiB'], NAMES_FOR_NODE);

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

/** Makes the offer of a file as the browser would. */
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

let hosts = 0;

/** Gives an offer a host of its own, because each host takes few downloads at a time. */
function atOwnHost(offer: Offered): Offered {
  const url = named(offer.url, `host-${++hosts}.example`);
  return { ...offer, url, finalUrl: url };
}

/** Starts an origin that sends one file slowly and counts the bytes that it sends. */
async function slowly(name: string, bytes: number) {
  const content = contentOf(name, bytes);
  const paced = await PacedOrigin.start(content);
  const url = named(paced.url);
  const offer: Offered = {
    handOff: crypto.randomUUID(),
    url,
    finalUrl: url,
    fileName: `${name}.bin`,
    length: bytes,
    etag: '"paced"',
    headers: {},
    edges: [],
  };
  return { paced, offer, digest: sha256(content) };
}

/** Waits until a file has its full size: browsers first put an empty file in its place. */
const arrived = (path: string, bytes: number) =>
  until(() => existsSync(path) && statSync(path).size === bytes);

const sent = (paced: PacedOrigin, bytes: number) =>
  new Promise<void>((resolve) => paced.when(bytes, resolve));

test('64 MiB come through the edge and, when that is gone, from the origin', async () => {
  const { paced, offer, digest } = await slowly('large', 64 * MIB);
  const dying = await EdgeProcess.start(ALLOW, NAMES_FOR_NODE);
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

describe('faulty origins', () => {
  const names = Object.keys({ ...RANGE_FAULTS, ...BODY_FAULTS, ...VERSION_FAULTS }).filter(
    // A body that stalls or trickles holds its connection until time is up.
    (name) => FAULT_NAMES.includes(name) && !/^(?:stall-body|trickle)$/.test(name),
  );
  /** Returns whether an answer shows the fault: silent faults show in none. */
  const shows = (name: string) => !['silent', 'either'].includes(classOf(name));
  /** Faults in spite of which the engine takes a file. */
  const mended = [
    'reset-after',
    'short-body-once',
    'bit-flips-digest',
    'changed-in-the-middle',
    'ranges-ignored-later',
    'wrong-start-later',
    'earlier-range',
    'multipart-overlapping',
  ];

  test('lead to no wrong byte, and mendable faults do not stop a download', async () => {
    const committed = new Map<string, Offered>();
    const refused: Record<string, string> = {};
    const offerOne = async (name: string) => {
      const offer = atOwnHost(await offerOf(name));
      // A file that is not taken continues in the browser. Some origins are silent until then.
      await taker.take(offer, 8000).then(
        () => committed.set(name, offer),
        (why: unknown) => {
          refused[name] = String(why);
        },
      );
    };
    const shown = names.filter(shows);
    for (let at = 0; at < shown.length; at += 20) {
      await Promise.all(shown.slice(at, at + 20).map(offerOne));
    }
    const missed = () => mended.filter((name) => !committed.has(name));
    // On a busy machine a late answer rightly leaves a file with the browser: offer it again.
    for (let again = 0; again < 2; again++) for (const name of missed()) await offerOne(name);
    expect(missed().map((name) => `${name}: ${refused[name]}`)).toEqual([]);
    const wrong: string[] = [];
    for (const [name, { handOff, url, length }] of committed) {
      const { status, error, name: fileName } = await taker.ended(handOff);
      if (status === 'complete') {
        const path = join(browser.downloads, fileName);
        const digest = await digestOf(path).catch(String);
        if (versionsOf(name).some((version) => origin.digest(url, version) === digest)) continue;
        const size = statSync(path, { throwIfNoEntry: false })?.size;
        const files = await readdir(browser.downloads);
        wrong.push(`${name}: ${size} bytes of ${length}, ${digest}, among ${files.join(', ')}`);
        continue;
      } else if (classOf(name) === 'fatal-alone') continue;
      wrong.push(`${name}: ${error?.code ?? status}`);
    }
    expect(wrong).toEqual([]);
  });
});

test('a file that lacks the digest that its origin states is not saved', async () => {
  for (const [fault, code] of [
    ['repr-digest', undefined],
    ['repr-digest-wrong', 'wrong-digest'],
  ] as const) {
    const offer = { ...(await offerOf(fault)), fileName: `stated-${fault}.bin` };
    await taker.take(offer);
    const { status, error } = await taker.ended(offer.handOff);
    expect([status, error?.code]).toEqual([code === undefined ? 'complete' : 'error', code]);
    expect(existsSync(join(browser.downloads, offer.fileName))).toBe(code === undefined);
  }
});

test('a killed browser resumes after its next start, and fetches what is missing', async () => {
  const own = await mkdtemp(join(tmpdir(), 'millrace-profile-'));
  const { paced, offer, digest } = await slowly('restarted', 64 * MIB);
  const first = await ExtensionBrowser.start({ extension, profile: own });
  const before = new Taker(first);
  paced.holdAt(32 * MIB);
  await before.take(offer);
  let stored = 0;
  // The rest is held back: the file could be complete before the browser is killed.
  await until(async () => {
    stored = (await before.shown(offer.handOff))?.storedBytes ?? 0;
    return stored > 16 * MIB;
  });
  await killBrowser(first);
  paced.letGo();
  const sentBefore = paced.sentBytes;
  const second = await ExtensionBrowser.start({ extension, profile: own });
  const path = join(second.downloads, 'restarted.bin');
  await arrived(path, offer.length);
  expect(await digestOf(path)).toBe(digest);
  // The journal lacked the last stretch of each connection, so a little is fetched twice.
  expect(paced.sentBytes - sentBefore).toBeLessThan(64 * MIB - stored + 10 * MIB);
  // The engine hears of the saved file a little later.
  const after = await new Taker(second).ended(offer.handOff);
  expect(after).toMatchObject({ status: 'complete', storedBytes: 64 * MIB });
  expect(await new Taker(second).call<unknown[]>('list')).toHaveLength(1);
  await second.stop();
  await paced.stop();
  await rm(own, { recursive: true, force: true });
});

test('the engine continues without the service worker, and wakes it when a file is complete', async () => {
  const random = seededRandom(SEED);
  const { paced, offer, digest } = await slowly('unattended', 48 * MIB);
  await taker.take(offer);
  for (let at = 4 * MIB; at < 44 * MIB; at += random() * 20 * MIB) {
    await until(() => paced.sentBytes > at);
    await browser.killBackground();
  }
  const path = join(browser.downloads, 'unattended.bin');
  await arrived(path, offer.length);
  expect(await digestOf(path)).toBe(digest);
  await until(async () => (await taker.shown(offer.handOff))?.status === 'complete');
  expect(existsSync(join(browser.downloads, 'unattended (1).bin'))).toBe(false);
  await paced.stop();
});

test('an order to save a file that ends with the background is given to the next one', async () => {
  const { paced, offer, digest } = await slowly('ordered', 4 * MIB);
  const worker = await browser.worker();
  await worker.evaluate(() => {
    const { downloads } = (globalThis as unknown as { chrome: { downloads: object } }).chrome;
    const download = () => {
      Object.assign(globalThis, { isOrdered: true });
      return new Promise(() => {});
    };
    Object.assign(downloads, { download });
  });
  await taker.take(offer);
  await until(() => worker.evaluate(() => 'isOrdered' in globalThis));
  await browser.killBackground();
  const path = join(browser.downloads, 'ordered.bin');
  await arrived(path, offer.length);
  expect(await digestOf(path)).toBe(digest);
  await until(async () => (await taker.shown(offer.handOff))?.status === 'complete');
  await paced.stop();
});

test('a download can be paused, resumed and removed', async () => {
  const { paced, offer, digest } = await slowly('paused', 32 * MIB);
  // The rest is held back: the download could be complete before the command arrives.
  paced.holdAt(8 * MIB);
  const some = sent(paced, 8 * MIB);
  await taker.take(offer);
  await some;
  await taker.call('command', offer.handOff, 'pause');
  const { status, storedBytes } = (await taker.shown(offer.handOff)) as ShownInBrowser;
  expect(status).toBe('paused');
  expect(storedBytes).toBeGreaterThan(0);
  paced.letGo();
  await taker.call('command', offer.handOff, 'resume');
  await taker.ended(offer.handOff);
  expect(await digestOf(join(browser.downloads, 'paused.bin'))).toBe(digest);
  expect(await taker.call('stateOf', offer.handOff)).toEqual({
    state: 'committed',
    id: offer.handOff,
  });
  await taker.call('command', offer.handOff, 'remove');
  expect(await taker.shown(offer.handOff)).toBeUndefined();
  expect(existsSync(join(browser.downloads, 'paused.bin'))).toBe(true);
  await paced.stop();
});

test('a file that does not fit is refused, and the refusal says how much would fit', async () => {
  const offer = { ...(await offerOf('none')), length: 2 ** 50 };
  await expect(taker.take(offer)).rejects.toMatchObject({
    problem: 'refused',
    code: 'disk-full',
    message: expect.stringMatching(/no room for a download of .* at most fit/),
  });
  expect(await taker.call('stateOf', offer.handOff)).toEqual({ state: 'unknown' });
});

test('added links are saved under the names in their URLs, those without ranges by the browser', async () => {
  const links = ['none', 'no-ranges'].map((fault) => ({
    url: named(origin.url(fault, { name: `added-${fault}.bin` })),
    headers: {},
    edges: [edge.url],
  }));
  const ids = await taker.call<string[]>('add', links);
  for (const [index, id] of ids.entries()) {
    expect(await taker.ended(id)).toMatchObject({ status: 'complete' });
    const { url } = links[index] as (typeof links)[number];
    const name = /added-[a-z-]+\.bin/.exec(url)?.[0] as string;
    expect(await digestOf(join(browser.downloads, name))).toBe(origin.digest(url));
  }
});
