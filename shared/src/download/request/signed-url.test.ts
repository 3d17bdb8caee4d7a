import { expect, test } from '@jest/globals';
import { looksOneTime, looksSigned } from './signed-url.ts';

test.each([
  'https://b.s3.amazonaws.com/a.iso?X-Amz-Date=1&X-Amz-Signature=abc',
  'https://d.cloudfront.net/a.iso?Expires=1&Signature=x&Key-Pair-Id=k',
  'https://x.blob.core.windows.net/c/a.iso?se=2026&sig=abc%3D',
  'https://cdn.example/a.iso?token=abc',
])('%s is for this user only', (url) => {
  expect(looksSigned(url)).toBe(true);
});

test.each([
  'https://example.com/a.iso',
  'https://example.com/token/a.iso?mirror=de',
  'https://example.com/a.iso?size=1&seed=signature',
])('%s is public', (url) => {
  expect(looksSigned(url)).toBe(false);
});

test.each([
  ['https://example.com/a.iso?OTP=123', true],
  ['https://example.com/a.iso?size=1&ticket=abc', true],
  ['https://example.com/a.iso?X-Amz-Signature=abc', false],
  ['https://example.com/once/a.iso?seed=once', false],
])('%s works for one request only: %s', (url, once) => {
  expect(looksOneTime(url)).toBe(once);
});
