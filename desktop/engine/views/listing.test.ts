import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { SORT_KEYS, type SortKey } from '@millrace/shared/bridge/rpc/list-api';
import { FakeDaemon, T0 } from '../../testing/fake-daemon.ts';
import { listRecords } from './listing.ts';
import { viewOf } from './view.ts';

const SEED = 20_261_121;
const UNFINISHED = 30;
const FINISHED = 50;
const EVERY = { offset: 0, limit: 1000 };
let daemon: FakeDaemon;

beforeAll(() => {
  daemon = new FakeDaemon();
  const random = seededRandom(SEED);
  const { manager } = daemon;
  for (let i = 0; i < UNFINISHED + FINISHED; i++) {
    const name = `${'abcXYZ'[Math.floor(random() * 6)]}${Math.floor(random() * 40)}`;
    daemon.now = T0 + Math.floor(random() * 1000);
    const asked = { urls: [`http://h${i % 3}.example/${name}.iso`], paused: true };
    if (i < UNFINISHED) manager.add(asked);
    else {
      const length = random() < 0.3 ? undefined : Math.floor(random() * 100);
      const state = (['complete', 'error', 'removed'] as const)[i % 3] as 'complete';
      manager.addFinished(asked, { state, finishedAt: daemon.now, createdAt: daemon.now, length });
    }
  }
});
afterAll(() => daemon.remove());

const asked = (name: string) => ({ urls: [`http://done.example/${name}.iso`] });
const gidsOf = (query: Parameters<typeof listRecords>[1]) =>
  listRecords(daemon.manager, query).records.map(({ gid }) => gid);

test('of complete downloads without a place, only descriptions that were not to be kept say so', async () => {
  const state = 'complete';
  const ended = { state, finishedAt: T0, createdAt: T0, path: undefined } as const;
  const other = new FakeDaemon();
  const { manager } = other;
  const notKept = (name: string, follow: true | 'mem', isFollowed: boolean) =>
    viewOf(manager, manager.addFinished({ ...asked(name), follow }, ended, isFollowed)).notKept;
  expect(notKept('d.torrent', 'mem', true)).toBe(true);
  // A list that is not trusted names no places.
  expect(notKept('kept.torrent', true, true)).toBeUndefined();
  expect(notKept('file.iso', true, false)).toBeUndefined();
  await other.remove();
});

describe.each(SORT_KEYS)('sorted by %s', (sort: SortKey) => {
  test.each([false, true])('its pages make up the whole list (descending: %s)', (descending) => {
    const all = gidsOf({ ...EVERY, sort, descending });
    expect(new Set(all).size).toBe(UNFINISHED + FINISHED);
    for (const limit of [1, 7, 33]) {
      const pages: string[] = [];
      for (let offset = 0; offset < all.length; offset += limit) {
        pages.push(...gidsOf({ sort, descending, offset, limit }));
      }
      expect(pages).toEqual(all);
    }
    expect(gidsOf({ sort, descending, offset: 1000, limit: 10 })).toEqual([]);
  });
});

test('values rise or fall in order, and unknown ones come last', () => {
  for (const descending of [false, true]) {
    const { records } = listRecords(daemon.manager, { ...EVERY, sort: 'size', descending });
    const sizes = records.map(({ length }) => length);
    const known = sizes.filter((size) => size !== undefined);
    const sorted = known.toSorted((a, b) => (descending ? b - a : a - b));
    expect(sizes.slice(0, known.length)).toEqual(sorted);
  }
  const { records } = listRecords(daemon.manager, { ...EVERY, sort: 'name' });
  const names = records.map(({ name }) => name.toLowerCase());
  expect(names).toEqual(names.toSorted());
});

test('filters apply to the queue and to the history', () => {
  const paused = listRecords(daemon.manager, { ...EVERY, sort: 'name', status: ['paused'] });
  expect(paused.total).toBe(UNFINISHED);
  const failed = listRecords(daemon.manager, { ...EVERY, sort: 'name', status: ['error'] });
  expect(failed.records.every(({ state }) => state === 'error')).toBe(true);
  expect(failed.total).toBe(failed.records.length);
  const host = listRecords(daemon.manager, { ...EVERY, sort: 'added', host: 'h1.example' });
  expect(new Set(host.records.map((record) => record.host))).toEqual(new Set(['h1.example']));
  const found = listRecords(daemon.manager, { ...EVERY, sort: 'name', text: 'XYZ nothing' });
  expect(found).toEqual({ total: 0, records: [] });
});

test('no file is found by the name of the folder that holds all of them', () => {
  const folder = daemon.folder.split('/').at(-1) as string;
  expect(listRecords(daemon.manager, { ...EVERY, text: folder }).total).toBe(0);
  expect(listRecords(daemon.manager, { ...EVERY, text: 'http' }).total).toBe(0);
  expect(listRecords(daemon.manager, { ...EVERY, text: '.example/' }).total).toBeGreaterThan(0);
});

test('1,600 paused and 700 finished downloads hide neither what runs nor what failed', async () => {
  const many = new FakeDaemon();
  try {
    const { manager } = many;
    const oldest = [];
    for (const name of ['a', 'b', 'c']) oldest.push((await many.run(name)).gid);
    const waiting = many.add('w', { startAt: T0 + 1e9 });
    const ended = { createdAt: T0 - 1e9, finishedAt: T0 - 1e9, length: undefined };
    const failed = manager.addFinished(asked('f'), { ...ended, state: 'error' }).gid;
    manager.store.atOnce(() => {
      for (let i = 0; i < 1600; i++) {
        many.now++;
        many.add(`p${i}`, { paused: true });
      }
      for (let i = 0; i < 700; i++) {
        const createdAt = many.now++;
        manager.addFinished(asked(`d${i}`), { ...ended, createdAt, state: 'complete' });
      }
    });
    const query = { sort: 'urgent', offset: 0, limit: 500 } as const;
    const { total, records } = listRecords(manager, query);
    expect(total).toBe(2305);
    expect(records).toHaveLength(500);
    const shown = records.map(({ gid }) => gid);
    expect(new Set(shown.slice(0, 3))).toEqual(new Set(oldest));
    expect(shown.slice(3, 5)).toEqual([waiting, failed]);
    const rest = records.slice(5).map(({ createdAt }) => createdAt);
    expect(rest).toEqual(Array.from(rest, (_, i) => many.now - 1 - i));
  } finally {
    await many.remove();
  }
});
