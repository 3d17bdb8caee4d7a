import { expect, test } from '@jest/globals';
import { wordsFor } from '../text/words.ts';
import type { Totals } from './totals.ts';
import { taskbarProgress, trayText } from './tray-text.ts';

const en = wordsFor(['en']);

const busy: Totals = {
  active: 3,
  waiting: 2,
  bytesPerSecond: 12 * 1024 * 1024,
  share: 0.999,
  etaMs: 240_000,
};
const idle: Totals = {
  active: 0,
  waiting: 0,
  bytesPerSecond: 0,
  share: undefined,
  etaMs: undefined,
};

test.each<[string, Partial<Totals>, string]>([
  ['busy', busy, '3 downloads · 99% · 12 MiB/s · 4 min left · 2 waiting'],
  ['one without a length', { active: 1 }, '1 download · 0 B/s'],
  ['all wait', { waiting: 1 }, '1 waiting'],
  ['nothing', {}, 'Nothing is being downloaded'],
])('%s', (_, totals, text) => {
  expect(trayText('running', { ...idle, ...totals }, en)).toBe(text);
});

test('tells when the daemon is not running', () => {
  expect(trayText('starting', busy, en)).toBe('The engine is starting');
  expect(trayText('down', busy, en)).toBe('The engine is not running');
});

test('is in German for German users, and in English for unknown languages', () => {
  const german = trayText('running', busy, wordsFor(['xx', 'de-AT', 'en']));
  expect(german).toBe('3 Downloads · 99% · 12 MiB/s · noch 4 min · 2 warten');
  expect(wordsFor(['system', 'fr'])).toBe(en);
});

test('the longest remaining time still fits a tooltip', () => {
  const long = { ...busy, active: 1e15, waiting: 1e15, etaMs: Number.MAX_SAFE_INTEGER };
  expect(trayText('running', long, en).length).toBeLessThanOrEqual(127);
});

test('the taskbar shows nothing, an unknown share, or a share', () => {
  expect(taskbarProgress(idle)).toBe(-1);
  expect(taskbarProgress({ ...idle, active: 1 })).toBe(2);
  expect(taskbarProgress({ ...busy, share: 0.426 })).toBe(0.42);
  expect(taskbarProgress({ ...busy, share: 1 })).toBe(0.99);
});
