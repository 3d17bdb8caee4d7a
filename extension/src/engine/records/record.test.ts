import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { failed, resumed } from './failures.ts';
import { hasPlace, MAX_RECORDS, toForget } from './places.ts';
import { type DownloadRecord, paused } from './record.ts';
import { lackOfRoom } from './room.ts';
import { shown } from './shown.ts';

const MIB = 1024 * 1024;

const record = (more: Partial<DownloadRecord> = {}): DownloadRecord => ({
  id: 'a',
  url: 'http://origin.example/a',
  fileName: 'a',
  length: 100 * MIB,
  promised: 100 * MIB,
  validators: { etag: '"1"' },
  headers: {},
  edges: [],
  createdAt: 1,
  state: 'queued',
  storedBytes: 40 * MIB,
  ...more,
});

const many = (count: number, state: DownloadRecord['state']) =>
  Array.from({ length: count }, (_, i) => record({ id: `${state}${i}`, createdAt: i, state }));

describe('history', () => {
  test('loses the oldest ended downloads, and never unfinished ones', () => {
    const records = [...many(MAX_RECORDS, 'paused'), ...many(3, 'complete')];
    expect(toForget(records).map(({ id }) => id)).toEqual(['complete0', 'complete1', 'complete2']);
    expect(toForget(many(MAX_RECORDS + 2, 'error')).map(({ id }) => id)).toEqual([
      'error0',
      'error1',
    ]);
    expect(hasPlace(records)).toBe(false);
    expect(hasPlace(many(MAX_RECORDS, 'complete'))).toBe(true);
  });
});

describe('commands', () => {
  test('pause only downloads that wait or run', () => {
    expect(paused(record())).toMatchObject({ state: 'paused', storedBytes: 40 * MIB });
    expect(paused(record({ state: 'saving' }))).toBeUndefined();
    expect(paused(record({ state: 'complete' }))).toBeUndefined();
  });

  test('resume with the stored bytes, unless they belong to another file', () => {
    const error = (code: string) => ({ code, message: '' });
    const state = 'error' as const;
    expect(resumed(record({ state, error: error('disk-full') }))).toMatchObject({
      anew: false,
      record: { state: 'queued', storedBytes: 40 * MIB },
    });
    expect(resumed(record({ state, error: error('version-changed') }))).toMatchObject({
      anew: true,
      record: { state: 'queued', storedBytes: 0, validators: undefined, restarts: 0 },
    });
    expect(resumed(record())).toBeUndefined();
  });
});

test('a file whose parts are refused after the commit is left to the browser', () => {
  const refused = (more: Partial<DownloadRecord>) =>
    failed(record(more), new MillraceError('origin-denied'));
  // Edges carry no log-in: the browser does.
  const login = failed(record({ storedBytes: 0 }), new MillraceError('origin-login'));
  expect(login.state).toBe('browser');
  expect(refused({ storedBytes: 0 })).toMatchObject({
    state: 'browser',
    length: 100 * MIB,
    save: { url: 'http://origin.example/a' },
  });
  // A download that the browser has already tried, or with many stored bytes, stays where it is.
  expect(refused({ storedBytes: 0, state: 'browser' })).toMatchObject({ state: 'error' });
  expect(refused({ storedBytes: 40 * MIB })).toMatchObject({
    state: 'error',
    storedBytes: 40 * MIB,
  });
});

test('a file that changes for every request is left to the browser after a few restarts', () => {
  let now = record();
  const codes: string[] = [];
  for (let i = 0; i < 6 && now.state !== 'error'; i++) {
    now = failed(now, new MillraceError('version-changed'));
    codes.push(now.error?.code ?? now.state);
  }
  expect(codes).toEqual(['queued', 'queued', 'queued', 'browser', 'version-changed']);
});

test('a shown download has a status and a remaining time', () => {
  const live = { storedBytes: 50 * MIB, bytesPerSecond: MIB, waiting: false };
  expect(shown(record(), live)).toMatchObject({ status: 'active', etaMs: 50_000 });
  expect(shown(record(), { ...live, waiting: true })).toMatchObject({
    status: 'waiting',
    bytesPerSecond: 0,
  });
  expect(shown(record(), undefined)).toMatchObject({ status: 'queued', storedBytes: 40 * MIB });
  expect(shown(record({ state: 'saving' }), undefined).status).toBe('active');
});

describe('room in storage', () => {
  const reserve = 64 * MIB;

  test('is needed twice: for the download, and for the copy in the user’s folder', () => {
    const estimate = { quota: reserve + 200 * MIB, usage: 0 };
    expect(lackOfRoom(estimate, 100 * MIB, [])).toBeUndefined();
    expect(lackOfRoom(estimate, 100 * MIB + 1, [])).toMatch(/at most fit/);
  });

  test('is reserved for earlier downloads', () => {
    const estimate = { quota: reserve + 360 * MIB + 5, usage: 5 };
    expect(lackOfRoom(estimate, 100 * MIB, [record()])).toBeUndefined();
    expect(lackOfRoom(estimate, 100 * MIB, [record({ storedBytes: 0 })])).toBeDefined();
    expect(lackOfRoom(estimate, 180 * MIB, [record({ state: 'complete' })])).toBeUndefined();
  });

  test('is not checked if the browser does not know it', () => {
    expect(lackOfRoom({}, 2 ** 50, [])).toBeUndefined();
  });
});
