import { describe, expect, test } from '@jest/globals';
import { codeInFragment, MAX_OFFERED_URLS, offeredInFragment, withOffered } from './session-api.ts';

const CODE = 'abcdefghijklmnop_-12';
const URLS = ['https://example.com/a.iso?x=1&y=2#k', 'http://example.org/b c.bin'];

describe('the fragment of a log-in link', () => {
  test('has a code, and the links that the page offers', () => {
    const { hash } = new URL(withOffered(`http://127.0.0.1:6800/#code=${CODE}`, URLS));
    expect(codeInFragment(hash)).toBe(CODE);
    expect(offeredInFragment(hash)).toEqual(URLS);
    expect(offeredInFragment(`#code=${CODE}`)).toEqual([]);
    expect(withOffered(`#code=${CODE}`, [])).toBe(`#code=${CODE}`);
  });

  test('offers nothing without a code, and nothing but http and https', () => {
    expect(offeredInFragment('#add=https%3A%2F%2Fexample.com%2F')).toEqual([]);
    const others = ['file:///etc/passwd', 'javascript:alert(1)', 'https://a:b@example.com/'];
    expect(offeredInFragment(withOffered(`#code=${CODE}`, others))).toEqual([]);
    expect(codeInFragment(`#code=${CODE}&more`)).toBeUndefined();
  });

  test('offers a bounded number of links', () => {
    const many = Array.from({ length: MAX_OFFERED_URLS + 9 }, (_, i) => `https://example.com/${i}`);
    expect(offeredInFragment(withOffered(`#code=${CODE}`, many))).toHaveLength(MAX_OFFERED_URLS);
  });
});
