import { expect, test } from '@jest/globals';
import type { DownloadView } from './daemon-api.ts';
import { applyRowPatch, figuresOf } from './row-patch.ts';

const ROW: DownloadView = {
  gid: '0123456789abcdef',
  status: 'active',
  phase: 'running',
  name: 'x.iso',
  dir: '/d',
  urls: ['http://a.example/x.iso'],
  storedBytes: 1,
  receivedBytes: 1,
  bytesPerSecond: 5,
  etaMs: 1000,
  connections: 2,
  priority: 0,
  createdAt: 1,
  attempts: 0,
  expiredLink: false,
};

test('figures bring an older row up to date', () => {
  const { etaMs: _, ...rest } = ROW;
  const now: DownloadView = { ...rest, storedBytes: 7, bytesPerSecond: 0 };
  const sent = JSON.parse(JSON.stringify(figuresOf(now)));
  expect(applyRowPatch(ROW, sent)).toEqual(now);
});

test('the patch of an unknown row is complete', () => {
  expect(applyRowPatch(undefined, JSON.parse(JSON.stringify(ROW)))).toEqual(ROW);
});

test('a complete row replaces the earlier one', () => {
  const { phase: _, ...paused } = { ...ROW, status: 'paused' as const };
  expect(applyRowPatch(ROW, JSON.parse(JSON.stringify(paused)))).toEqual(paused);
});
