import { expect, test } from '@jest/globals';
import type { Absence } from '../files/origin-answer.ts';
import { KeptAnswers } from './kept-answers.ts';
import { newPurge, Purges } from './purges.ts';

const absence = (fields: Absence['fields'] = {}): Absence => ({
  ...{ code: 'origin-not-found', detail: 'it answered 404', retryAfterMs: undefined, fields },
  freshness: {
    ...{ notStorable: undefined, initialAgeMs: 0, arrivedAt: 0 },
    ...{ lifetimeMs: 0, staleIfErrorMs: 1000 },
  },
});
const url = (host: string, path: number | string) => `https://${host}.example/${path}`;

test('an origin has room for some answers only, and takes none from another one', () => {
  const answers = new KeptAnswers(new Purges(), 2 ** 20, 3);
  const put = (host: string, path: number) => answers.put(url(host, path), 'public', absence(), 0);
  put('quiet', 1);
  for (let i = 0; i < 100; i++) put('asked', i);
  expect(answers.count).toBe(4);
  expect(answers.get(url('quiet', 1), 'public')).toBeDefined();
  const kept = [96, 97, 98, 99].map((i) => answers.get(url('asked', i), 'public') !== undefined);
  expect(kept).toEqual([false, true, true, true]);
  // An answer that comes again is the newest one.
  put('asked', 97);
  put('asked', 100);
  expect(answers.get(url('asked', 97), 'public')).toBeDefined();
  expect(answers.get(url('asked', 98), 'public')).toBeUndefined();
});

test('all answers together have a share of the memory, whatever their origins', () => {
  const answers = new KeptAnswers(new Purges(), 64 * 1024);
  for (let i = 0; i < 1000; i++) answers.put(url(`o${i}`, 'x'), 'public', absence(), 0);
  expect(answers.bytes).toBeLessThanOrEqual(64 * 1024);
  expect(answers.count).toBeGreaterThan(0);
  for (let i = 0; i < 1000; i++) answers.drop(url(`o${i}`, 'x'), 'public');
  expect([answers.count, answers.bytes]).toEqual([0, 0]);
});

test('a purge of its label ends an answer', async () => {
  const purges = new Purges();
  const answers = new KeptAnswers(purges, 2 ** 20);
  answers.put(url('a', 1), 'public', absence({ 'cache-tag': 'news' }), purges.current);
  answers.put(url('a', 2), 'public', absence(), purges.current);
  await purges.purge(newPurge({ kind: 'label', label: 'news' }, 0), false);
  expect(answers.get(url('a', 1), 'public')).toBeUndefined();
  expect(answers.get(url('a', 2), 'public')).toBeDefined();
});
