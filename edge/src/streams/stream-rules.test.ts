import { expect, test } from '@jest/globals';
import type { FreshTimes } from '@millrace/shared/http/answers/freshness';
import { StreamRules } from './stream-rules.ts';

const URL_OF_FILE = new URL('http://origin.example/file');
const [CHUNK, MAX] = [1000, 50_000];
const rules = (times: FreshTimes = {}, maxBytes = MAX) =>
  new StreamRules({ chunkBytes: CHUNK, maxBytes, times: () => times });
const answer = (fields: Record<string, string>) => ({
  headers: { 'content-length': '5000', ...fields },
  requestedAt: 0,
  arrivedAt: 10,
});
const tagged = answer({ etag: 'W/"1"' });
const lasting = answer({ 'cache-control': 'max-age=60' });

test('a whole answer is kept if something tells its version, or if it stays fresh for a time', () => {
  expect(rules().refuses(tagged, URL_OF_FILE)).toBeUndefined();
  expect(rules().refuses(lasting, URL_OF_FILE)).toBeUndefined();
  expect(rules().refuses(answer({}), URL_OF_FILE)).toBe('no-ranges');
  expect(rules({ fresh: 60_000 }).refuses(answer({}), URL_OF_FILE)).toBeUndefined();
});

test('a file whose ranges nothing pins is kept whole only while it is fresh', () => {
  expect(rules().keepsForTime(lasting, URL_OF_FILE, 5000)).toBe(true);
  expect(rules().keepsForTime(tagged, URL_OF_FILE, 5000)).toBe(false);
  expect(rules().keepsForTime(lasting, URL_OF_FILE, MAX + 1)).toBe(false);
});

test('a cache of fewer than eight chunks keeps no streams', () => {
  const small = rules({}, 8 * CHUNK - 1);
  expect(small.canKeep).toBe(false);
  expect(small.refuses(tagged, URL_OF_FILE)).toBe('no-ranges');
  expect(small.keepsForTime(lasting, URL_OF_FILE, 5000)).toBe(false);
  expect(rules({}, 8 * CHUNK).canKeep).toBe(true);
});
