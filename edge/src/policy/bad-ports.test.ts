import { describe, expect, test } from '@jest/globals';
import { hasBadPort } from './bad-ports.ts';

describe('ports of other protocols', () => {
  test.each([22, 25, 53, 110, 143, 465, 587, 6000, 6667, 10080])('%d is refused', (port) => {
    expect(hasBadPort(new URL(`http://example.com:${port}/`))).toBe(true);
    expect(hasBadPort(new URL(`https://example.com:${port}/`))).toBe(true);
  });

  test.each(['', ':80', ':443', ':8080', ':3125', ':6379', ':65535'])('"%s" is allowed', (port) => {
    expect(hasBadPort(new URL(`http://example.com${port}/`))).toBe(false);
    expect(hasBadPort(new URL(`https://example.com${port}/`))).toBe(false);
  });
});
