import { describe, expect, test } from '@jest/globals';
import type { SyncFile } from '@millrace/shared/sync/manifest';
import type { SyncPlan } from '@millrace/shared/sync/plan';
import {
  appliedLine,
  hostLine,
  planLines,
  progressText,
  publishedLines,
  pushedLine,
  pushText,
} from './sync-text.ts';

const COUNTS = { fetched: 0, copied: 0, settled: 0, removed: 0, unchanged: 3, receivedBytes: 2048 };
const file = (path: string): SyncFile => ({
  ...{ path, size: 1024, sha256: '0'.repeat(64), mode: '644', modified: 0 },
});

describe('sync prints', () => {
  test('only the kinds of work that it did', () => {
    expect(appliedLine(COUNTS, 0)).toBe('0 files fetched (2 KiB received), 3 unchanged');
    const all = { ...COUNTS, fetched: 1, copied: 2, settled: 3, removed: 4 };
    expect(appliedLine(all, 5)).toBe(
      '1 file fetched (2 KiB received), 2 copied, 3 with another time or execution bit, ' +
        '4 deleted, 3 unchanged, 5 failed',
    );
  });

  test('a plan: a line for each step, without control characters', () => {
    const plan: SyncPlan = {
      clear: ['link'],
      folders: ['b'],
      fetch: [{ file: file('b/c'), places: [file('b/c'), file('d')] }],
      copy: [{ file: file('e'), places: [file('e')], from: 'f' }],
      settle: [file('g')],
      remove: ['h\x1b[2J'],
      obstacles: [],
      unchanged: 7,
      fetchFiles: 2,
      fetchBytes: 1024,
    };
    expect(planLines(plan)).toEqual([
      ...['delete link', 'make   b/', 'fetch  b/c (1 KiB)', 'fetch  d (1 KiB)'],
      ...['copy   e from f', 'touch  g', expect.not.stringContaining('\x1b')],
      '2 files to fetch (1 KiB), 7 unchanged',
    ]);
  });

  test('the path and the digest of a manifest', () => {
    const published = { path: '/m.json', sha256: 'ab', files: 1, bytes: 10, script: '/s.sh' };
    expect(publishedLines(published)).toEqual([
      '1 file, 10 B: /m.json',
      'script: /s.sh',
      'sha-256=ab',
    ]);
  });

  test('the hosts of a push', () => {
    const counts = { unchanged: 2, fetched: 1, failed: 0 };
    const done = { done: true, status: 0, counts, why: '' };
    expect(hostLine('a:/x', done, 1234, false)).toBe('a:/x: 1 file fetched, 2 unchanged, 1.2 s');
    expect(hostLine('a:/x', done, 0, true)).toBe('a:/x: 1 file to fetch, 2 unchanged, 0.0 s');
    const lost = { done: false, status: 255, counts: undefined, why: 'lost' };
    expect(hostLine('a:/x', lost, 0, false)).toBe('a:/x: FAILED: lost');
    expect(pushedLine(1, 1)).toBe('1 host done');
    expect(pushedLine(1, 2)).toBe('1 of 2 hosts done; the same command continues');
    const running = new Map([
      ['a', undefined],
      ['b', { files: 1, of: 3 }],
    ]);
    expect(pushText(1, 3, running)).toBe('1 of 3 hosts, a, b 33%');
  });

  test('its progress', () => {
    const stand = { files: 1, ofFiles: 3, ofBytes: 4096 };
    expect(progressText(stand, 2048, 1000)).toBe('1 of 3 files, 2 KiB of 4 KiB, 2 KiB/s');
  });
});
