/** Programs written for aria2 work with the daemon: aria2p, a Python library, drives it. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { Aria2p, type Aria2pDownload, aria2pOrComplain } from '../../fixtures/tools/aria2p.ts';
import { until } from '../../fixtures/until.ts';

const SIZE = 4_000_000;
const { afterAll, afterEach, beforeAll, test } = testsWhere(aria2pOrComplain('clients of aria2'));
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FaultOrigin;
let daemon: DaemonProcess;
let client: Aria2p;

beforeAll(async () => {
  folder = await temporaryFolder();
  origin = await FaultOrigin.start();
  daemon = await DaemonProcess.start(folder.path);
  client = await Aria2p.start(daemon);
});
afterEach(() => origin?.reset());
afterAll(async () => {
  await client?.stop();
  await daemon?.stop();
  await origin?.stop();
  await folder?.remove();
});

const add = (url: string, options: object = {}) =>
  client.do<Aria2pDownload>('add', { uris: [url], options });
const status = (gid: string) => client.do<Aria2pDownload>('status', { gid });
const hears = (event: string, gid: string) => until(() => client.heard.includes(`${event} ${gid}`));

test('adds a download, follows it, and finds its file', async () => {
  const url = origin.url('none', { size: SIZE });
  const { gid } = await add(url, {
    out: 'named.bin',
    dir: join(folder.path, 'downloads', 'made', 'for it'),
    split: '4',
    header: ['X-One: 1', 'X-Two: 2'],
  });
  await hears('start', gid);
  await hears('complete', gid);
  const done = await status(gid);
  expect(done).toMatchObject({
    status: 'complete',
    name: 'named.bin',
    total: SIZE,
    completed: SIZE,
    progress: 100,
    error: '0',
    files: [join(folder.path, 'downloads', 'made', 'for it', 'named.bin')],
  });
  expect(sha256(await readFile(done.files[0] as string))).toBe(origin.digest(url));
  expect(origin.requests[0]?.headers).toMatchObject({ 'x-one': '1', 'x-two': '2' });
});

test('pauses, resumes and removes', async () => {
  const url = origin.url('gate', { size: SIZE, name: 'paused.bin' });
  const { gid } = await add(url);
  await daemon.partly(gid);
  expect(await status(gid)).toMatchObject({ status: 'active', total: SIZE });
  expect(await client.do('pause', { gid })).toBe(true);
  await hears('pause', gid);
  expect(await status(gid)).toMatchObject({ status: 'paused' });
  origin.openGate();
  expect(await client.do('resume', { gid })).toBe(true);
  await hears('complete', gid);
  const { files } = await status(gid);
  expect(sha256(await readFile(files[0] as string))).toBe(origin.digest(url));

  origin.reset();
  const other = await add(origin.url('gate', { size: SIZE, seed: 'other', name: 'removed.bin' }));
  await hears('start', other.gid);
  expect(await client.do('remove', { gid: other.gid })).toBe(true);
  await hears('stop', other.gid);
});

test('learns why a download has failed', async () => {
  const { gid } = await add(origin.url('not-found', { name: 'missing.bin' }));
  await hears('error', gid);
  const failed = await status(gid);
  // aria2's "resource not found".
  expect(failed).toMatchObject({ status: 'error', error: '3' });
  expect(failed.message).toMatch(/no such file/);
  expect(await client.do('purge')).toBe(true);
  await expect(status(gid)).rejects.toThrow(/is not found/);
});

test('reads and changes the options of a download and of all', async () => {
  const { gid } = await add(origin.url('gate', { size: SIZE, name: 'options.bin' }), {
    pause: 'true',
    'max-download-limit': '100K',
  });
  expect(await client.do('options', { gid })).toMatchObject({ 'max-download-limit': '102400' });
  await client.do('set_limit', { gid, limit: 5000 });
  expect(await client.do('options', { gid })).toMatchObject({ 'max-download-limit': '5000' });
  const options = { 'max-concurrent-downloads': '3', 'max-overall-download-limit': '10M' };
  expect(await client.do('set_global', { options })).toBe(true);
  expect(await client.do('global_options')).toMatchObject({
    'max-concurrent-downloads': '3',
    'max-overall-download-limit': String(10 * 1024 * 1024),
  });
  await expect(add(origin.url('none'), { split: 'many' })).rejects.toThrow(/--split/);
  expect(await client.do('stats')).toMatchObject({ waiting: 1 });
  const second = await add(origin.url('gate', { name: 'second.bin' }), { pause: 'true' });
  await client.do('move_to_top', { gid: second.gid });
  expect(await client.do<string[]>('list')).toEqual(expect.arrayContaining([second.gid, gid]));
  const { downloads } = await daemon.call('millrace.list', {
    status: ['paused'],
  });
  expect(downloads.map((one) => one.gid)).toEqual([second.gid, gid]);
});

test('asks for several things at once', async () => {
  const { gid } = await add(origin.url('none', { name: 'multi.bin' }));
  expect(await client.do('multicall', { gid })).toEqual([
    [expect.objectContaining({ version: expect.any(String) })],
    [{ gid }],
  ]);
  expect(await client.do<string[]>('methods')).toEqual(
    expect.arrayContaining(['aria2.addUri', 'system.multicall', 'millrace.add']),
  );
});

test('speaks XML-RPC', async () => {
  const xml = <T>(method: string, ...params: readonly unknown[]) =>
    client.do<T>('xml', { method, params });
  const url = origin.url('none', { size: SIZE, name: 'xml.bin' });
  const gid = await xml<string>('aria2.addUri', [url], { out: 'by-xml.bin', split: '2' });
  await hears('complete', gid);
  const keys = ['status', 'totalLength', 'files'];
  expect(await xml('aria2.tellStatus', gid, keys)).toMatchObject({
    status: 'complete',
    totalLength: String(SIZE),
    files: [{ path: join(folder.path, 'downloads', 'by-xml.bin'), uris: [{ uri: url }] }],
  });
  expect(await client.do('xml_multicall', { gid })).toEqual([
    expect.objectContaining({ version: expect.any(String) }),
    { gid },
  ]);
  expect(await xml('aria2.tellStatus', 'abc')).toEqual({ fault: 1, text: 'GID abc is not found' });
  const answer = await fetch(new URL('/rpc', daemon.url), { method: 'POST', body: 'xx' });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(/^line 1, column/);
});

test('follows a Metalink document to its files, and names both in their status', async () => {
  const file = origin.url('none', { size: SIZE, seed: 'listed' });
  const server = await FileServer.start();
  const document = Buffer.from(
    `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="listed.bin">
     <size>${SIZE}</size><hash type="sha-256">${origin.digest(file)}</hash>
     <url>${file.replaceAll('&', '&amp;')}</url></file></metalink>`,
  );
  const list = server.add('/list.meta4', { body: document });
  const relations = async (gid: string) =>
    (await daemon.call('aria2.tellStatus', gid, ['followedBy', 'following'])) as {
      followedBy?: [string];
      following?: string;
    };
  const { gid } = await add(list);
  await until(async () => (await relations(gid)).followedBy !== undefined);
  const [listed] = (await relations(gid)).followedBy as [string];
  expect(await relations(listed)).toEqual({ following: gid });
  const { path, name } = await daemon.reaches(listed, 'complete');
  expect(name).toBe('listed.bin');
  expect(sha256(await readFile(path as string))).toBe(origin.digest(file));

  // A list keeps the link, with the gids that both get where it is imported.
  const { text } = await daemon.call('millrace.export', { format: 'json' });
  const importOnly = async (gids: readonly string[]) => {
    const whole = JSON.parse(text) as { downloads: { gid: string }[] };
    const downloads = whole.downloads.filter((one) => gids.includes(one.gid));
    const asked = { text: JSON.stringify({ ...whole, downloads }) };
    const imported = await daemon.call('millrace.import', asked);
    expect(imported).toMatchObject({ skipped: [], gids: gids.map(() => expect.any(String)) });
    return Promise.all(imported.gids.map(relations));
  };
  const linked = await importOnly([gid, listed]);
  const { following } = linked.find((one) => one.following !== undefined) ?? {};
  expect(following).not.toBe(gid);
  const { followedBy } = await relations(following as string);
  expect(linked).toContainEqual({ following });
  expect(followedBy).toHaveLength(1);
  expect(await importOnly([listed])).toEqual([{}]);

  const alone = await add(list, { 'follow-metalink': 'false' });
  await daemon.reaches(alone.gid, 'complete');
  expect(await relations(alone.gid)).toEqual({});

  // Its server says what a document without such a name is, unless the client has named it.
  const headers = { 'content-type': 'application/metalink4+xml' };
  const typed = server.add('/by-type', { body: document, headers });
  const named = await add(typed, { out: 'named.bin' });
  const byType = await add(typed);
  await until(async () => (await relations(byType.gid)).followedBy !== undefined);
  await daemon.reaches(named.gid, 'complete');
  expect(await relations(named.gid)).toEqual({});
  await server.stop();
});

test('expands patterns into mirrors, and says which options have no effect', async () => {
  const url = origin.url('none', { size: SIZE, name: 'pattern.bin' });
  const { port } = new URL(url);
  const pattern = url.replace(`127.0.0.1:${port}`, `{127.0.0.1,localhost}:${port}`);
  const { gid } = await add(pattern, { 'parameterized-uri': 'true', 'remote-time': 'true' });
  const { urls } = await daemon.reaches(gid, 'complete');
  expect(urls).toEqual([url, url.replace('127.0.0.1', 'localhost')]);
  expect(await client.do('options', { gid })).toMatchObject({ 'remote-time': 'false' });
  const { log } = await daemon.call('millrace.detail', { gid });
  expect(log.map(({ text }) => text)).toContain(
    '--remote-time is not supported, and has no effect',
  );
  await expect(add(url, { 'dry-run': 'true' })).rejects.toThrow(/--dry-run.*does not support/);
});
