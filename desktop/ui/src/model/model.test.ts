import { describe, expect, test } from '@jest/globals';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { DownloadDetail } from '@millrace/shared/bridge/rpc/detail-api';
import { retryDelay } from '../api/retry-delay.ts';
import {
  commonRequest,
  FIRST_FORM,
  problemsOf,
  readChecksum,
  readHeaders,
  readLimit,
  requestsOf,
} from './adding/add-form.ts';
import { appendSpeed, patchDetail } from './detail.ts';
import { canRepair, hasFile, remedyOf, shareOf, suggestsRepair } from './failure.ts';
import { FIRST_VIEW, queryOf, sortBy } from './filter.ts';
import { cellAt, cellBytes, gridFor } from './map-geometry.ts';
import { sourceLabel } from './source-label.ts';
import { weekBars } from './week.ts';

const LINKS = [{ url: 'u1' }, { url: 'u2' }];

describe('the form for adding', () => {
  test('knows a checksum by its length, with or without its name', () => {
    expect(readChecksum(` SHA-256=${'Ab'.repeat(32)}`)).toEqual({
      algorithm: 'sha256',
      hex: 'ab'.repeat(32),
    });
    expect(readChecksum('d41d8cd98f00b204e9800998ecf8427e')?.algorithm).toBe('md5');
    expect(readChecksum('abc')).toBeUndefined();
    expect(readChecksum('xy'.repeat(32))).toBeUndefined();
  });

  test('reads header fields, and gives the number of an invalid line', () => {
    expect(readHeaders('Cookie: a=b; c: d\n\n Referer :http://x/')).toEqual({
      Cookie: 'a=b; c: d',
      Referer: 'http://x/',
    });
    expect(readHeaders('Cookie: a\nnonsense')).toBe(2);
  });

  test('accepts a speed with a decimal comma, or none, and refuses other text', () => {
    expect(readLimit('1,5 MiB/s')).toBe(1_572_864);
    expect(readLimit(' ')).toBeNull();
    expect(readLimit('fast')).toBeUndefined();
    expect(readLimit('0')).toBeUndefined();
  });

  test('makes a request for each link, or one for all as sources of one file', () => {
    const form = { ...FIRST_FORM, file: 'x.iso', checksum: 'ab'.repeat(32), dir: ' /data ' };
    const digests = [{ algorithm: 'sha256', hex: 'ab'.repeat(32) }];
    const common = { useEdges: true, dir: '/data' };
    expect(requestsOf(form, LINKS, true)).toEqual([
      { ...common, urls: ['u1', 'u2'], file: 'x.iso', digests },
    ]);
    expect(requestsOf(form, LINKS, false)).toEqual([
      { ...common, urls: ['u1'] },
      { ...common, urls: ['u2'] },
    ]);
  });

  test('a command of curl gives what is not typed', () => {
    const options = { file: 'a', headers: { cookie: 'a=b', 'x-y': '1' }, limit: 5 };
    const form = { ...FIRST_FORM, headers: 'X-Y: 2', limit: '1 KiB/s' };
    expect(requestsOf(form, [{ url: 'u1', options }], false)).toEqual([
      {
        ...{ useEdges: true, urls: ['u1'], file: 'a', limit: 1024 },
        headers: { cookie: 'a=b', 'x-y': '2' },
      },
    ]);
  });

  test('names an older file for one download only, by its whole path', () => {
    const form = { ...FIRST_FORM, older: ' /data/old.iso ' };
    expect(requestsOf(form, [{ url: 'u1' }], false)[0]).toMatchObject({
      older: { path: '/data/old.iso' },
    });
    expect(
      requestsOf(form, [{ url: 'u1' }, { url: 'u2' }], false).some((one) => 'older' in one),
    ).toBe(false);
    const relative = { ...FIRST_FORM, older: 'old.iso' };
    expect([...problemsOf(relative, true)]).toEqual(['older']);
    expect(problemsOf(relative, false).size).toBe(0);
  });

  test('puts several downloads first in the order of their links', () => {
    const requests = requestsOf({ ...FIRST_FORM, start: 'next' }, LINKS, false);
    expect(requests.map(({ urls, position }) => [urls[0], position])).toEqual([
      ['u2', 0],
      ['u1', 0],
    ]);
  });

  test('names the fields that are wrong', () => {
    const bad = { ...FIRST_FORM, checksum: '1', headers: 'x', limit: 'x', start: 'at' as const };
    expect([...problemsOf(bad, true)].sort()).toEqual(['checksum', 'headers', 'limit', 'startAt']);
    expect(problemsOf({ ...FIRST_FORM, checksum: '1' }, false).size).toBe(0);
    expect(commonRequest({ ...bad, startAt: '2026-03-03T08:00' }).startAt).toBe(
      Date.parse('2026-03-03T08:00'),
    );
  });
});

describe('the details', () => {
  const speed = { endsAt: 5000, stepMs: 1000, bytesPerSecond: [1, 2] };
  const entry = (seq: number) => ({ seq, at: 0, event: 'note' as const });
  const detail = { gid: 'a', log: [entry(1)], speed, running: true } as unknown as DownloadDetail;

  test('grow by new entries and samples, and take none twice', () => {
    const patched = patchDetail(detail, {
      gid: 'a',
      running: false,
      newLog: [entry(1), entry(2)],
      newSpeed: { endsAt: 6000, stepMs: 1000, bytesPerSecond: [2, 3] },
    });
    expect(patched?.log.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(patched?.speed).toEqual({ endsAt: 6000, stepMs: 1000, bytesPerSecond: [1, 2, 3] });
    expect(patched?.running).toBe(false);
    expect(patchDetail(detail, { gid: 'b', running: false })).toBe(detail);
  });

  test('count missing seconds as idle, and keep ten minutes', () => {
    const later = appendSpeed(speed, { endsAt: 8000, stepMs: 1000, bytesPerSecond: [9] });
    expect(later.bytesPerSecond).toEqual([1, 2, 0, 0, 9]);
    const much = {
      endsAt: 9e6,
      stepMs: 1000,
      bytesPerSecond: Array.from({ length: 600 }, () => 1),
    };
    expect(appendSpeed(later, much).bytesPerSecond).toHaveLength(600);
  });
});

describe('lists', () => {
  test('ask for the states of a filter, for words, and for an order', () => {
    expect(queryOf(FIRST_VIEW)).toEqual({ sort: 'queue' });
    expect(queryOf({ ...FIRST_VIEW, state: 'queued', text: ' iso ', sort: 'name' })).toEqual({
      status: ['queued', 'waiting', 'paused'],
      text: 'iso',
      sort: 'name',
      descending: false,
    });
  });

  test('begin with the largest or the newest, and are reversed when chosen again', () => {
    const bySize = sortBy(FIRST_VIEW, 'size');
    expect(bySize.descending).toBe(true);
    expect(sortBy(bySize, 'size').descending).toBe(false);
    expect(sortBy(bySize, 'name')).toMatchObject({ sort: 'name', descending: false });
  });
});

test('the remedy depends on the error', () => {
  const failed = (code: string, expiredLink = false) =>
    ({ error: { code }, expiredLink }) as unknown as DownloadView;
  expect(remedyOf(failed('origin-denied', true))).toBe('newLink');
  expect(remedyOf(failed('file-not-writable'))).toBe('change');
  expect(remedyOf(failed('proxy-denied'))).toBe('proxy');
  expect(remedyOf(failed('origin-not-allowed'))).toBe('edges');
  expect(remedyOf(failed('origin-login'))).toBe('edges');
  expect(remedyOf(failed('of-tomorrow'))).toBe('retry');
});

test('a share is given only where it is known', () => {
  const view = (status: string, length: number | undefined, storedBytes: number) =>
    shareOf({ status, length, storedBytes } as DownloadView);
  expect(view('active', undefined, 5)).toBeUndefined();
  expect(view('active', 10, 5)).toBe(0.5);
  expect(view('active', 0, 0)).toBe(1);
  expect(view('complete', undefined, 5)).toBe(1);
});

describe('the block map', () => {
  test('fits into its area, and the pointer finds every cell', () => {
    const grid = gridFor(1024, 360, 190);
    expect(grid.rows * grid.pitch).toBeLessThanOrEqual(190);
    expect(grid.columns * grid.pitch).toBeLessThanOrEqual(360);
    for (const cell of [0, 51, 1023]) {
      const x = (cell % grid.columns) * grid.pitch + 1;
      const y = Math.floor(cell / grid.columns) * grid.pitch + 1;
      expect(cellAt(grid, 1024, x, y)).toBe(cell);
    }
    expect(cellAt(grid, 1024, 359, 189)).toBeUndefined();
  });

  test('covers all bytes of the file', () => {
    expect(cellBytes(1000, 3, 0)).toEqual([0, 333]);
    expect(cellBytes(1000, 3, 2)).toEqual([666, 1000]);
  });
});

test('a window over midnight continues on the next day, also from Sunday to Monday', () => {
  const week = weekBars([{ days: ['sun'], from: '22:00', to: '06:00', pause: true }]);
  expect(week[6]).toEqual([{ from: 1320, to: 1440, pause: true }]);
  expect(week[0]).toEqual([{ from: 0, to: 360, pause: true }]);
  const whole = weekBars([{ days: ['mon'], from: '00:00', to: '00:00', limit: 1 }]);
  expect(whole[0]).toEqual([{ from: 0, to: 1440, pause: false }]);
  expect(whole[1]).toEqual([]);
});

test('edges have the names that their user gave them', () => {
  const edges = [{ url: 'http://a:1', name: 'paris', enabled: true, local: false }];
  expect(sourceLabel({ kind: 'edge', label: 'http://a:1/' }, edges)).toBe('paris');
  expect(sourceLabel({ kind: 'edge', label: 'http://b:1/' }, edges)).toBe('b:1');
  expect(sourceLabel({ kind: 'origin', label: 'a.example' }, edges)).toBe('a.example');
});

test('the wait between attempts to connect doubles, up to a limit', () => {
  const delays = Array.from({ length: 12 }, (_, attempt) => retryDelay(attempt, () => 0));
  expect(delays.slice(0, 4)).toEqual([250, 500, 1000, 2000]);
  expect(Math.max(...delays)).toBe(8000);
  expect(retryDelay(0, () => 1)).toBe(313);
});

test('a repair is suggested for files that no digest has shown to be right', () => {
  const row = { status: 'complete', startedAt: 1, path: '/a' } as DownloadView;
  const digest = { algorithm: 'sha256', hex: 'ab' };
  expect(suggestsRepair(row)).toBe(true);
  expect(suggestsRepair({ ...row, digest })).toBe(false);
  expect(suggestsRepair({ ...row, status: 'active' })).toBe(false);
  expect(suggestsRepair({ ...row, startedAt: undefined } as never)).toBe(false);
});

test('a description that was followed and not kept has no file to open, delete or repair', () => {
  const row = { status: 'complete', startedAt: 1, path: '/a.torrent' } as DownloadView;
  expect([hasFile(row), canRepair(row)]).toEqual([true, true]);
  const { path: _, ...notKept } = row;
  expect([hasFile(notKept), canRepair(notKept)]).toEqual([false, false]);
  // The path of a download that runs is that of the file to come.
  expect(hasFile({ ...row, status: 'active' })).toBe(false);
});
