import { expect, test } from '@jest/globals';
import type { FileVersion } from '../files/file-version.ts';
import { Figures } from './dashboard-figures.ts';
import { Metrics } from './metrics.ts';

const MINUTE = 60_000;

test('errors and files in demand are of the time that is asked for', async () => {
  let now = Date.UTC(2026, 0, 1);
  const metrics = new Metrics();
  const figures = new Figures(metrics, 1000, () => now);
  const version = { scope: 'public', url: 'http://a.example/f', length: 10_000 } as FileVersion;
  await figures.read();
  metrics.errors.inc({ code: 'origin-not-found' });
  for (let i = 0; i < 16; i++) figures.onChunk(version, i % 10, 1000);
  const early = (await figures.read()).ranges;
  for (const { errors, files } of Object.values(early)) {
    expect(errors).toEqual({ 'origin-not-found': 1 });
    expect(files[0]?.count).toBe(16);
  }
  now += 6 * MINUTE;
  metrics.errors.inc({ code: 'origin-reset' });
  figures.onChunk(version, 0, 1000);
  const { minutes, usual, day } = (await figures.read()).ranges;
  expect(minutes.errors).toEqual({ 'origin-reset': 1 });
  expect(usual.errors).toEqual({ 'origin-not-found': 1, 'origin-reset': 1 });
  expect(day.errors).toEqual(usual.errors);
  const counts = [minutes, usual, day].map(({ files }) => files[0]?.count);
  expect(counts).toEqual([3, 17, 17]);
});
