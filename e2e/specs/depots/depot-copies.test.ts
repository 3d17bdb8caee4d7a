/** Uploads to several depots: copies that depots pull from each other, slow depots, limits. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { digestAt, eventsOf } from '../../fixtures/stages/exnode-stage.ts';
import { HeldDepot } from '../../fixtures/stages/held-depot.ts';

const MIB = 1024 * 1024;
const BYTES = 8 * MIB + 4321;
/** Most bytes of what else is appended: the exNode, once for each depot. */
const OTHER_BYTES = 16 * 1024;

const stage = await DepotStage.set();
const content = contentOf('copies', BYTES);
const digest = sha256(content);
const file = join(stage.folder, 'talk.bin');
await writeFile(file, content);
const env = { MILLRACE_STATE: join(stage.folder, 'state') };

const started: HeldDepot[] = [];
afterAll(() => {
  for (const depot of started) depot.close();
});

/** Options of a depot. It may pull from the others, which are not of its network. */
const optionsOf = (name: string, from = '127.0.0.1') => [
  ...['--depot-dir', join(stage.folder, name)],
  ...['--allow-origin', from],
];

/** Starts two depots whose appends go through. @param from host that they may pull from */
async function twoDepots(name: string, from?: string): Promise<[HeldDepot, HeldDepot]> {
  const depots = ['a', 'b'].map((one) =>
    HeldDepot.start(stage, ...optionsOf(`${name}-${one}`, from)),
  );
  const both = (await Promise.all(depots)) as [HeldDepot, HeldDepot];
  started.push(...both);
  for (const depot of both) depot.open(true);
  return both;
}

/** Uploads the file to depots, as a copy at each. @returns the events, and the path of the exNode */
async function uploaded(
  depots: readonly { readonly url: string }[],
  name: string,
  ...options: string[]
) {
  const exnode = join(stage.folder, `${name}.exnode`);
  const { code, stdout, stderr } = await runCli(
    [
      ...['upload', file, ...depots.flatMap(({ url }) => ['--edge', url])],
      ...['--token-file', stage.tokenFile, '--json', '-o', exnode, ...options],
    ],
    env,
  );
  if (code !== 0) throw new Error(stdout + stderr);
  return { exnode, events: eventsOf(stdout) };
}

/** Downloads the file by its exNode. @returns its digest */
async function gotten(exnode: string, name: string): Promise<string> {
  const path = join(stage.folder, name);
  const { code, stdout, stderr } = await runCli(['get', exnode, '-o', path], env);
  if (code !== 0) throw new Error(stdout + stderr);
  return digestAt(path);
}

/** Returns what the command says of depots. */
async function reputes(
  depots: readonly { readonly url: string }[],
): Promise<(string | undefined)[]> {
  const listed: { origin: string; repute: string }[] = JSON.parse(
    (await runCli(['depots', '--json'], env)).stdout,
  ).depots;
  return depots.map(({ url }) => listed.find(({ origin }) => origin === url)?.repute);
}

const appended = (depots: readonly HeldDepot[]) =>
  depots.reduce((sum, { appendedBytes }) => sum + appendedBytes, 0);

test.each([
  ['plain', []],
  ['encrypted', ['--encrypt']],
])(
  'a %s file is sent once, and each of its two copies is right without the other',
  async (name, options) => {
    const depots = await twoDepots(name);
    const { exnode, events } = await uploaded(depots, name, ...options);
    expect(appended(depots)).toBeGreaterThanOrEqual(BYTES);
    expect(appended(depots)).toBeLessThan(BYTES + OTHER_BYTES);
    const told = events.filter(({ event }) => event === 'copy-stored' || event === 'fed');
    expect(told).toEqual([
      { event: 'copy-stored', copies: 1, of: 2 },
      { event: 'copy-stored', copies: 2, of: 2 },
    ]);
    const { key = 'none' } = JSON.parse(await readFile(exnode, 'utf8'));
    let stopped: EdgeProcess | undefined;
    for (const [i, { edge }] of depots.entries()) {
      expect(await stage.diskText(join(stage.folder, `${name}-${'ab'[i]}`))).not.toContain(key);
      await edge.stop('SIGKILL');
      if (stopped !== undefined) {
        await stage.restart(stopped, ...optionsOf(`${name}-a`), '--public-url', depots[0].url);
      }
      stopped = edge;
      expect(await gotten(exnode, `${name}-without-${i}`)).toBe(digest);
    }
  },
);

test('a copy whose pull breaks off is sent from where it stands, and that is said', async () => {
  const depots = await twoDepots('broken');
  const [first, second] = depots;
  // The file is sent to the depot that is named first.
  first.cutReads(3 * MIB);
  const { exnode, events } = await uploaded(depots, 'broken');
  expect(events.filter(({ event }) => event === 'fed')).toMatchObject([{ edge: second.url }]);
  expect(first.appendedBytes).toBeLessThan(BYTES + OTHER_BYTES);
  expect(second.appendedBytes).toBeGreaterThan(0);
  expect(second.appendedBytes).toBeLessThanOrEqual(BYTES - 2 * MIB);
  await first.edge.stop('SIGKILL');
  expect(await gotten(exnode, 'broken-without')).toBe(digest);
});

test('a copy at a depot that may not pull from the other one is sent, and what depots did is remembered', async () => {
  const depots = await twoDepots('refused', 'nowhere.example');
  const { exnode, events } = await uploaded(depots, 'refused');
  expect(events.filter(({ event }) => event === 'fed')).toMatchObject([
    { edge: depots[1].url, code: 'origin-not-allowed' },
  ]);
  await depots[0].edge.stop('SIGKILL');
  expect(await gotten(exnode, 'refused-without')).toBe(digest);
  expect(await reputes(depots)).toEqual(['good', 'good']);
  expect((await runCli(['stat', exnode, '--check'], env)).code).toBe(3);
  expect(await reputes(depots)).toEqual(['bad', 'good']);
});

test('a copy at a depot that may not pull is sent while the first one is, and not after it', async () => {
  const depots = await twoDepots('beside', 'nowhere.example');
  for (const depot of depots) depot.open(false);
  const upload = uploaded(depots, 'beside');
  // Neither has got a byte yet.
  await Promise.all(depots.map(({ held }) => held));
  for (const depot of depots) {
    depot.open(true);
    depot.breakHeld();
  }
  const { exnode, events } = await upload;
  expect(events.filter(({ event }) => event === 'fed')).toMatchObject([
    { edge: depots[1].url, code: 'origin-not-allowed' },
  ]);
  await depots[0].edge.stop('SIGKILL');
  expect(await gotten(exnode, 'beside-without')).toBe(digest);
});

test('a depot that does not take its copy ends the upload before the first one is stored', async () => {
  const [first, second] = await twoDepots('early');
  first.open(false);
  const wrong = join(stage.folder, 'wrong-token');
  await writeFile(wrong, 'not-the-token-of-any-owner\n');
  const { code, stdout } = await runCli(
    [
      ...['upload', file, '--edge', first.url, '--token-file', stage.tokenFile],
      ...['--edge', second.url, '--token-file', wrong, '--json'],
      ...['-o', join(stage.folder, 'early.exnode')],
    ],
    env,
  );
  expect([code, eventsOf(stdout).at(-1).code]).toEqual([4, 'owner-token-required']);
});

test('an upload in parts moves what a slow depot was to store to the others', async () => {
  const fast = await twoDepots('fast');
  // So slow that its third of the file would take one and a half minutes.
  await stage.setOwners('alice', 'rate=32KiB/s');
  // Not behind a front: it acknowledges what it has, bit by bit.
  const slow = await stage.start(...optionsOf('slow'));
  await stage.setOwners('alice');
  const { exnode, events } = await uploaded([slow, ...fast], 'slow', '--copies', '1');
  const left = events.flatMap(({ event, edge }) => (event === 'depot-slow' ? [edge] : []));
  expect(left).toContain(slow.url);
  const metrics = await (await fetch(`${slow.url}/-/metrics`)).text();
  expect(metrics).toMatch(/^\w+_depot_received_bytes_total\S* [1-9]/m);
  const text = await readFile(exnode, 'utf8');
  expect(text).not.toContain(slow.url);
  expect(await gotten(exnode, 'without-slow')).toBe(digest);
  expect(await reputes([slow])).toEqual(['bad']);
});

test('a limited upload sends no faster than its limit, over all depots together', async () => {
  const depots = await twoDepots('limited');
  const rate = 2 * MIB;
  // Not from the first byte on, which a busy machine may read late.
  const begunAt = performance.now();
  await uploaded(depots, 'limited', '--copies', '1', '--limit', '2MiB/s');
  const ms = Math.max(...depots.map(({ appendedAt }) => appendedAt)) - begunAt;
  // A quarter of a second at once, and a piece of 256 KiB for each depot that is on its way.
  const atOnce = rate / 4 + depots.length * 256 * 1024;
  expect(appended(depots)).toBeGreaterThanOrEqual(BYTES);
  expect(BYTES - atOnce).toBeLessThanOrEqual((rate * ms) / 1000);
});
