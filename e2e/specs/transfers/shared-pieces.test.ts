/** Pieces of a torrent that several of its files share, checked once these are complete. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, utimes } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AfterChoice } from '@millrace/shared/download/after/after';
import { severalV1 } from '@millrace/shared/download/torrent/testing/torrents';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer, type ServedFile } from '../../fixtures/origins/file-server.ts';
import { DaemonCliStage } from '../../fixtures/stages/daemon-cli-stage.ts';
import { until } from '../../fixtures/until.ts';

const PIECE = 16 * 1024;
/** The pieces that files share: 2 of a, b and c; 4 of c and d; 6 of d and e. */
const LENGTHS = {
  'a.bin': 40_000,
  'b.bin': 100,
  'c.bin': 30_000,
  'd.bin': 30_000,
  'e.bin': 20_000,
};
const NAMES = Object.keys(LENGTHS) as (keyof typeof LENGTHS)[];
const CONTENTS = Object.fromEntries(
  Object.entries(LENGTHS).map(([name, length]) => [name, contentOf(name, length)]),
) as Record<keyof typeof LENGTHS, Buffer>;
const sha1 = (bytes: Uint8Array) => createHash('sha1').update(bytes).digest();

const stage = await DaemonCliStage.set();
let servers: FileServer[];

beforeEach(async () => {
  servers = [await FileServer.start(), await FileServer.start()];
  await stage.cli.startDaemon();
});
afterEach(() => Promise.all(servers.map((server) => server.stop())));

/** Has a server serve the files, some of them with faults. */
function serve(
  server: FileServer,
  faults: Partial<Record<string, Partial<ServedFile>>> = {},
): string {
  for (const name of NAMES) {
    server.add(`/t/${name}`, { body: CONTENTS[name], ...faults[name] });
  }
  return server.url('/');
}

/** Adds files of the torrent. @returns their gids, by name */
async function add(seeds: readonly string[], after?: AfterChoice, only = [0, 1, 2, 3, 4]) {
  const files = NAMES.map((name) => ({ name, content: CONTENTS[name] }));
  const document = Buffer.from(severalV1('t', files, PIECE, seeds, sha1)).toString('base64');
  const { gids } = await stage.cli.call('addMetalink', { metalink: document, only, after });
  return Object.fromEntries(only.map((index, i) => [NAMES[index], gids[i] as string]));
}

const pathOf = (name: string) => join(stage.cli.downloads, 't', name);
const digestOf = async (name: string) => sha256(await readFile(pathOf(name)));
const right = (name: string) => sha256(CONTENTS[name as keyof typeof LENGTHS]);

async function statusesOf(gids: Readonly<Record<string, string>>): Promise<string[]> {
  const all = Object.values(gids).map((gid) => stage.cli.call('status', { gid }));
  return (await Promise.all(all)).map(({ status }) => status);
}

const ended = async (gids: Readonly<Record<string, string>>) =>
  (await statusesOf(gids)).every((status) => status === 'complete' || status === 'error');

/** Returns the notes of a download about shared pieces. */
async function notesOf(gid: string | undefined): Promise<string[]> {
  const { log } = await stage.cli.call('detail', { gid: gid as string });
  return log.flatMap(({ note }) => (note?.startsWith('shared-') === true ? note : []));
}

/** Waits until each of the downloads has been told about a shared piece. */
const told = (gids: Readonly<Record<string, string>>, note: string, names: readonly string[]) =>
  until(async () => {
    const all = await Promise.all(names.map((name) => notesOf(gids[name])));
    return all.every((notes) => notes.includes(note));
  });

/** Changes the second byte of a file, which is in a piece that it shares, as often as it is told. */
function lie(times: number): (bytes: Buffer, start: number) => Buffer {
  let left = times;
  return (bytes, start) => {
    if (start > 1 || bytes.length < 2 - start || left-- <= 0) return bytes;
    const changed = Buffer.from(bytes);
    changed[1 - start] = (changed[1 - start] as number) ^ 1;
    return changed;
  };
}

test('right pieces are said to be right, and nothing is fetched twice', async () => {
  const gids = await add([serve(servers[0] as FileServer)]);
  await told(gids, 'shared-right', NAMES);
  expect(await statusesOf(gids)).toEqual(NAMES.map(() => 'complete'));
  // Some are told first that the check waits; each is told of the result once.
  for (const name of NAMES) {
    const notes = await notesOf(gids[name]);
    expect(notes.filter((note) => note !== 'shared-waits')).toEqual(['shared-right']);
  }
});

test('a byte that was damaged once at the border of two files is fetched again', async () => {
  const gids = await add([serve(servers[0] as FileServer, { 'd.bin': { damage: lie(1) } })]);
  await told(gids, 'shared-wrong', ['c.bin', 'd.bin']);
  await told(gids, 'shared-right', NAMES);
  await until(() => ended(gids));
  expect(await Promise.all(NAMES.map(digestOf))).toEqual(NAMES.map(right));
  expect(await notesOf(gids['a.bin'])).not.toContain('shared-wrong');
});

test('of two web seeds the honest one corrects the border of two files', async () => {
  const liar = serve(servers[0] as FileServer, { 'd.bin': { damage: lie(Infinity) } });
  const gids = await add([liar, serve(servers[1] as FileServer)]);
  await told(gids, 'shared-right', NAMES);
  await until(() => ended(gids));
  expect(await Promise.all(NAMES.map(digestOf))).toEqual(NAMES.map(right));
});

test('neither file of a wrong border counts as right if the only web seed lies, and a repair corrects it', async () => {
  const server = servers[0] as FileServer;
  const gids = await add([serve(server, { 'd.bin': { damage: lie(Infinity) } })]);
  await until(async () => {
    const statuses = await statusesOf(gids);
    return statuses[2] === 'error' && statuses[3] === 'error' && (await ended(gids));
  });
  expect(await statusesOf(gids)).toEqual(['complete', 'complete', 'error', 'error', 'complete']);
  const failed = await stage.cli.call('status', { gid: gids['c.bin'] as string });
  expect(failed.error).toMatchObject({ code: 'wrong-digest' });
  serve(server);
  for (const name of ['c.bin', 'd.bin']) {
    await stage.cli.call('repair', { gid: gids[name] as string });
  }
  await until(async () => (await statusesOf(gids)).every((status) => status === 'complete'));
  expect(await Promise.all(NAMES.map(digestOf))).toEqual(NAMES.map(right));
});

test('a border is checked whose first file was complete before the daemon was killed', async () => {
  const held = Promise.withResolvers<void>();
  const gids = await add([
    serve(servers[0] as FileServer, {
      'c.bin': { damage: lie(1) },
      'b.bin': { hold: held.promise },
    }),
  ]);
  await until(
    async () => (await statusesOf(gids)).filter((one) => one === 'complete').length === 4,
  );
  await stage.cli.kill();
  held.resolve();
  await stage.cli.startDaemon();
  await told(gids, 'shared-wrong', ['a.bin', 'b.bin', 'c.bin']);
  await told(gids, 'shared-right', NAMES);
  await until(() => ended(gids));
  expect(await Promise.all(NAMES.map(digestOf))).toEqual(NAMES.map(right));
});

test('a border is left unchecked if a file is not chosen, or was changed by another program', async () => {
  const held = Promise.withResolvers<void>();
  const faults = { 'd.bin': { damage: lie(Infinity) }, 'b.bin': { hold: held.promise } };
  const gids = await add([serve(servers[0] as FileServer, faults)], undefined, [0, 1, 2, 4]);
  await told(gids, 'shared-unchecked', ['c.bin', 'e.bin']);
  await until(
    async () => (await statusesOf(gids)).filter((one) => one === 'complete').length === 3,
  );
  const { mtimeMs } = await stat(pathOf('a.bin'));
  await utimes(pathOf('a.bin'), mtimeMs / 1000, mtimeMs / 1000 + 3600);
  held.resolve();
  await told(gids, 'shared-unchecked', ['b.bin']);
  expect(await statusesOf(gids)).toEqual(['complete', 'complete', 'complete', 'complete']);
});

/**
 * Starts a webhook.
 *
 * @param slow file about which messages are answered once `until` has resolved
 * @returns for each file the digests that it had, by id of the message about it
 */
async function webhook(slow?: { readonly name: string; readonly until: Promise<void> }) {
  const told = new Map<string, Map<unknown, string>>();
  const server = createServer((request, response) => {
    void json(request).then(async (message) => {
      const name = basename((message as { data: { path: string } }).data.path);
      // The file as a program finds it that acts on the message.
      const digest = await digestOf(name);
      told.set(name, (told.get(name) ?? new Map()).set(request.headers['webhook-id'], digest));
      if (slow?.name === name) await slow.until;
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await stage.cli.json('after', 'webhook', `http://127.0.0.1:${port}/`);
  return {
    told,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Waits until all files are complete, checked, and all their actions have ended. */
const allDone = async (gids: Readonly<Record<string, string>>) => {
  await told(gids, 'shared-right', NAMES);
  await until(async () => {
    const all = Object.values(gids).map((gid) => stage.cli.call('status', { gid }));
    return (await Promise.all(all)).every(
      ({ status, after }) =>
        status === 'complete' && after?.every(({ state }) => state === 'done') === true,
    );
  });
};

test('actions run once: after the check of the last file, and not again after the repair of an earlier one', async () => {
  const hook = await webhook();
  const held = Promise.withResolvers<void>();
  try {
    const faults = { 'd.bin': { damage: lie(1), hold: held.promise } };
    const gids = await add([serve(servers[0] as FileServer, faults)], { webhook: true });
    await until(() => hook.told.size === 4);
    held.resolve();
    await allDone(gids);
    for (const name of NAMES) {
      expect([name, hook.told.get(name)?.size]).toEqual([name, 1]);
      expect(await digestOf(name)).toBe(right(name));
    }
    // The file that was last was right before anything was done with it.
    expect([...(hook.told.get('d.bin')?.values() ?? [])]).toEqual([right('d.bin')]);
    const [c, d] = await Promise.all([notesOf(gids['c.bin']), notesOf(gids['d.bin'])]);
    expect([...new Set(c)]).toEqual([
      'shared-waits',
      'shared-wrong',
      'shared-acted',
      'shared-right',
    ]);
    expect(d).not.toContain('shared-acted');
  } finally {
    hook.stop();
  }
});

test('a daemon that is killed while a border is judged judges it again', async () => {
  const [answered, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The judgement waits for the action on a file that is to be fetched again.
  const hook = await webhook({ name: 'c.bin', until: answered.promise });
  try {
    const faults = { 'd.bin': { damage: lie(1), hold: held.promise } };
    const gids = await add([serve(servers[0] as FileServer, faults)], { webhook: true });
    await until(() => hook.told.size === 4);
    held.resolve();
    const isThere = () =>
      stat(pathOf('d.bin')).then(
        () => true,
        () => false,
      );
    await until(isThere);
    const { status } = await stage.cli.call('status', { gid: gids['d.bin'] as string });
    expect(status).toBe('active');
    await stage.cli.kill();
    answered.resolve();
    await stage.cli.startDaemon();
    await allDone(gids);
    expect(await Promise.all(NAMES.map(digestOf))).toEqual(NAMES.map(right));
    // The action on the last file ran when that was right.
    expect([...(hook.told.get('d.bin')?.values() ?? [])]).toEqual([right('d.bin')]);
  } finally {
    hook.stop();
  }
});

test('a daemon that is killed while a border is fetched again ends it, and repeats no action', async () => {
  const hook = await webhook();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const server = servers[0] as FileServer;
  try {
    const faults = { 'd.bin': { damage: lie(1), hold: first.promise } };
    const gids = await add([serve(server, faults)], { webhook: true });
    await until(() => hook.told.size === 4);
    server.add('/t/c.bin', { body: CONTENTS['c.bin'], hold: second.promise });
    first.resolve();
    await until(() => server.held > 0 && hook.told.size === 5);
    await stage.cli.kill();
    second.resolve();
    await stage.cli.startDaemon();
    await allDone(gids);
    expect([...hook.told.values()].map(({ size }) => size)).toEqual([1, 1, 1, 1, 1]);
    expect(await Promise.all(NAMES.map(digestOf))).toEqual(NAMES.map(right));
  } finally {
    hook.stop();
  }
});
