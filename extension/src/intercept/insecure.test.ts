import { expect, test } from '@jest/globals';
import { isInsecure } from './insecure.ts';

test.each([
  [true, ['http://example.com/a']],
  [true, ['https://example.com/a', 'http://cdn.example.com/a']],
  [true, ['http://10.0.0.1/a']],
  [true, ['http://localhost.example.com/a']],
  [false, ['https://example.com/a', 'https://cdn.example.com/a']],
  [false, ['http://localhost:80/a', 'http://a.localhost/a', 'http://127.1/a', 'http://[::1]/a']],
])('the browser asks about files without TLS: %s, %j', (asks, urls) => {
  expect(isInsecure(urls)).toBe(asks);
});
