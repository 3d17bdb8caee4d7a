/** Torrents and Metalink documents that are complete, and the downloads that they lead to. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManagerStage } from '../../testing/manager-stage.ts';
import type { RunResult } from '../queue/contract.ts';
import type { ManagerEvent } from '../queue/records.ts';
import type { DownloadRecord } from '../store/record.ts';

const XML = 'application/metalink4+xml';
const DOCUMENT = `<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <file name="one.bin"><url>https://a.example/one.bin</url></file>
  <file name="two.bin"><url>https://b.example/two.bin</url></file></metalink>`;

let stage: ManagerStage;
let notes: string[];

beforeEach(() => {
  stage = new ManagerStage();
  listen();
});
afterEach(() => stage.clear());

function listen() {
  notes = [];
  stage.manager.listen((event: ManagerEvent) => {
    if (event.kind === 'note') notes.push(event.note);
  });
}

/** Waits until a condition holds, as disks take their time. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await stage.settled();
}

/** Downloads a document from https://a.example. @returns its gid, before it is followed */
async function fetched(part: object = {}, result: Partial<RunResult> = {}, text = DOCUMENT) {
  const gid = await stage.add({ urls: ['https://a.example/list.meta4'], ...part });
  const path = join(stage.folder, 'list.meta4');
  writeFileSync(path, text);
  void stage.last().complete({ path, bytes: text.length, ...result });
  return gid;
}

const record = (gid: string) => stage.manager.get(gid);
const isDone = (gid: string) => () => record(gid).options.follows === 'done';
const children = (gid: string): DownloadRecord[] =>
  stage.manager.store.followedBy(gid).map((one) => stage.manager.get(one));

test('a Metalink document leads to its files, at the head of the queue, and stays', async () => {
  stage.manager.setLimits({ ...stage.manager.settings.limits, concurrent: 1 });
  const gid = await stage.add({ urls: ['https://a.example/list.meta4'] });
  const later = await stage.add({ urls: ['https://c.example/later.bin'] });
  writeFileSync(join(stage.folder, 'list.meta4'), DOCUMENT);
  // The next one takes the place of the document before that is read.
  void stage.last().complete({ path: join(stage.folder, 'list.meta4'), bytes: DOCUMENT.length });
  await until(isDone(gid));
  expect(children(gid).map(({ name, options }) => [name, options.following])).toEqual([
    ['one.bin', gid],
    ['two.bin', gid],
  ]);
  const line = stage.manager.queue.line.map((item) => item.gid);
  expect(line.filter((one) => one !== later)).toEqual(children(gid).map((one) => one.gid));
  expect(readFileSync(join(stage.folder, 'list.meta4'), 'utf8')).toBe(DOCUMENT);
  expect(notes).toEqual(['followed', 'described-by', 'described-by']);
});

test('its files have its folder and options; log-in and fields only at its own server', async () => {
  const dir = join(stage.folder, 'sub');
  const login = { user: 'u', password: 'p' };
  const headers = { cookie: 'a=1', 'user-agent': 'me' };
  const limits = { limit: 500, connections: 3, maxTries: 9, priority: 2 };
  const gid = await fetched({ dir, login, headers, ...limits, after: { extract: true } });
  await until(isDone(gid));
  const [one, two] = children(gid) as [DownloadRecord, DownloadRecord];
  for (const { request, options, priority } of [one, two]) {
    expect(request).toMatchObject({ dir, limit: 500, connections: 3, overwrite: false });
    expect([options.maxTries, options.after, priority]).toEqual([9, { extract: true }, 2]);
  }
  expect([one.request.headers, one.request.login]).toEqual([headers, login]);
  expect([two.request.headers, two.request.login]).toEqual([{ 'user-agent': 'me' }, undefined]);
});

describe('a file that its server calls a Metalink document', () => {
  const typed = (part: object) =>
    fetched({ urls: ['https://a.example/get?id=7'], ...part }, { contentType: XML });
  const plain = { path: '' };

  beforeEach(() => {
    plain.path = join(stage.folder, 'plain');
    writeFileSync(plain.path, DOCUMENT);
  });

  test('is followed', async () => {
    const gid = await fetched({}, { ...plain, contentType: XML });
    await until(isDone(gid));
    expect(children(gid)).toHaveLength(2);
  });

  test.each([
    ['the user has named it', { file: 'mine.bin' }],
    ['the user has named it as a description', { file: 'list.meta4' }],
    ['the user knows its digest', { digests: [{ algorithm: 'sha256', hex: '0'.repeat(64) }] }],
    ['it is not to be followed', { follow: false }],
  ])('is a file like others if %s', async (_, part) => {
    const isNamed = 'file' in part && part.file === 'list.meta4';
    const path = isNamed ? join(stage.folder, 'list.meta4') : plain.path;
    const gid = await fetched(part, { path, contentType: XML });
    await until(() => record(gid).state === 'complete');
    expect(record(gid).options.follows).toBeUndefined();
  });

  test('is one like others if another description has led to it', async () => {
    const gid = await typed({ following: 'f'.repeat(16) });
    await until(() => record(gid).state === 'complete');
    expect(record(gid).options.follows).toBeUndefined();
  });
});

test('a document that is not to be kept is gone once its files are added', async () => {
  const gid = await fetched({ follow: 'mem' });
  await until(isDone(gid));
  expect(children(gid)).toHaveLength(2);
  expect(existsSync(join(stage.folder, 'list.meta4'))).toBe(false);
  expect(record(gid)).toMatchObject({ state: 'complete', path: undefined });
});

test.each([
  ['is none', 'no XML', /bad-metalink/],
  ['names no server', DOCUMENT.replaceAll(/<url>.*?<\/url>/g, ''), /bad-metalink/],
])('a document that %s stays complete, and its log says why', async (_, text) => {
  const whys: unknown[] = [];
  stage.manager.listen((event: ManagerEvent) => {
    if (event.kind === 'note') whys.push(`${event.note}: ${event.values.code}`);
  });
  const gid = await fetched({ follow: 'mem' }, {}, text);
  await until(isDone(gid));
  expect([record(gid).state, children(gid)]).toEqual(['complete', []]);
  expect(whys).toEqual([expect.stringMatching(/^not-followed: bad-metalink$/)]);
  expect(existsSync(join(stage.folder, 'list.meta4'))).toBe(true);
});

describe('a daemon that ended', () => {
  /** Ends the daemon, and starts another on a state that a crash could have left. */
  const crashed = async (gid: string, more: Partial<DownloadRecord['options']>) => {
    const { store } = stage.manager;
    const before = record(gid);
    store.put({ ...before, options: { ...before.options, ...more } });
    await stage.shut();
    stage.open();
    listen();
  };

  test('before the files were added lets the next one add them', async () => {
    const gid = await fetched({ follow: false });
    await until(() => record(gid).state === 'complete');
    await crashed(gid, { follow: 'mem', follows: 'mem' });
    await until(isDone(gid));
    expect(children(gid)).toHaveLength(2);
    expect(existsSync(join(stage.folder, 'list.meta4'))).toBe(false);
  });

  test.each([
    ['before it could store that', 'keep'],
    ['before the description was removed', 'remove'],
  ] as const)('after they were added, %s, adds none twice', async (_, follows) => {
    const gid = await fetched();
    await until(isDone(gid));
    await crashed(gid, { follows });
    await until(isDone(gid));
    expect(children(gid)).toHaveLength(2);
    expect(existsSync(join(stage.folder, 'list.meta4'))).toBe(follows === 'keep');
    expect(notes).toEqual([]);
  });
});

test('a description that the user has named is followed if that is asked for', async () => {
  const gid = await fetched({ file: 'list.meta4', follow: true });
  await until(isDone(gid));
  expect(children(gid)).toHaveLength(2);
});

test('a description that is repaired is not followed again', async () => {
  const gid = await fetched();
  await until(isDone(gid));
  stage.manager.changes.repair(gid);
  await stage.settled();
  void stage.last().complete({ path: join(stage.folder, 'list.meta4') });
  await until(() => record(gid).state === 'complete');
  expect(children(gid)).toHaveLength(2);
});
