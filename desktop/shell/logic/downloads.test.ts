import { describe, expect, test } from '@jest/globals';
import { type ShellDownload, totals, withChanges, without } from './downloads.ts';

function download(gid: string, changes: Partial<ShellDownload> = {}): ShellDownload {
  return {
    gid,
    name: `${gid}.iso`,
    status: 'active',
    length: 1000,
    storedBytes: 250,
    bytesPerSecond: 50,
    ...changes,
  };
}

test('remembers what runs or waits, and forgets the rest', () => {
  let downloads = withChanges(new Map(), [
    download('a'),
    download('b', { status: 'queued' }),
    download('c', { status: 'paused' }),
    download('d', { status: 'complete' }),
  ]);
  expect([...downloads.keys()]).toEqual(['a', 'b']);
  downloads = withChanges(downloads, [download('a', { status: 'error' })]);
  downloads = without(downloads, ['b', 'unknown']);
  expect(downloads.size).toBe(0);
});

test('a queue of any length takes bounded memory, and what is known stays current', () => {
  const many = Array.from({ length: 6000 }, (_, i) => download(String(i)));
  const downloads = withChanges(withChanges(new Map(), many), [
    download('0', { bytesPerSecond: 7 }),
  ]);
  expect(downloads.size).toBe(5000);
  expect(downloads.get('0')?.bytesPerSecond).toBe(7);
});

describe('totals', () => {
  test('of nothing', () => {
    const nothing = {
      active: 0,
      waiting: 0,
      bytesPerSecond: 0,
      share: undefined,
      etaMs: undefined,
    };
    expect(totals(new Map())).toEqual(nothing);
  });

  test('weighs by bytes, and leaves out what has no length', () => {
    const downloads = withChanges(new Map(), [
      download('a'),
      download('b', { length: 3000, storedBytes: 1750, bytesPerSecond: 150 }),
      download('c', { length: undefined, storedBytes: 5 }),
      download('d', { status: 'waiting' }),
    ]);
    expect(totals(downloads)).toEqual({
      active: 3,
      waiting: 1,
      bytesPerSecond: 250,
      share: 0.5,
      etaMs: 8000,
    });
  });

  test('more stored than there is to be is no more than all', () => {
    const downloads = withChanges(new Map(), [download('a', { storedBytes: 9999 })]);
    expect(totals(downloads).share).toBe(1);
  });
});
