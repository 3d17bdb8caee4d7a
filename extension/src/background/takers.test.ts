import { expect, test } from '@jest/globals';
import type { ShownDownload } from '../contract/taker.ts';
import { urgentFirst } from './takers.ts';

const download = (id: string, status: ShownDownload['status'], createdAt: number) => ({
  taker: 'desktop' as const,
  id,
  name: id,
  status,
  storedBytes: 0,
  bytesPerSecond: 0,
  createdAt,
});

test('1,600 paused downloads do not hide what runs, waits or failed in another taker', () => {
  const paused = Array.from({ length: 1600 }, (_, i) => download(`p${i}`, 'paused', 1000 + i));
  const others = [
    download('failed', 'error', 5),
    download('waiting', 'waiting', 3),
    download('queued', 'queued', 4),
    download('active', 'active', 1),
    download('newer', 'active', 2),
    download('complete', 'complete', 9000),
  ].map((one) => ({ ...one, taker: 'browser' as const }));
  const shown = urgentFirst([paused, others]);
  expect(shown).toHaveLength(500);
  expect(shown.slice(0, 7).map(({ id }) => id)).toEqual([
    'newer',
    'active',
    'queued',
    'waiting',
    'failed',
    'complete',
    'p1599',
  ]);
});
