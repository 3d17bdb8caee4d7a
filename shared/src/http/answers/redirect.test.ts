import { describe, expect, test } from '@jest/globals';
import { isRedirect, redirectTarget } from './redirect.ts';

const FROM = new URL('https://a.example/pub/file.iso?x=1');
const target = (location?: string | string[]) =>
  redirectTarget(location === undefined ? {} : { location }, FROM).href;

describe('a redirect', () => {
  test.each([
    ['https://b.example/f', 'https://b.example/f'],
    ['http://b.example/f#part', 'http://b.example/f'],
    ['//b.example/f', 'https://b.example/f'],
    ['/f?y=2', 'https://a.example/f?y=2'],
    ['other.iso', 'https://a.example/pub/other.iso'],
    ['?x=2', 'https://a.example/pub/file.iso?x=2'],
  ])('to %s leads to %s', (location, url) => {
    expect(target(location)).toBe(url);
  });

  test('in raw UTF-8, or in any other coding, leads to the same bytes', () => {
    const raw = (text: string) => Buffer.from(text).toString('latin1');
    expect(target(raw('/für alle.iso'))).toBe('https://a.example/f%C3%BCr%20alle.iso');
    expect(target(raw('https://bücher.example/ü?ü'))).toBe(
      'https://xn--bcher-kva.example/%C3%BC?%C3%BC',
    );
    expect(target('/f\xfcr.iso')).toBe('https://a.example/f%FCr.iso');
  });

  test.each([
    'ftp://b.example/f',
    'javascript:0',
    'data:,x',
    'http://',
    'https://[::1/',
    'file:///etc',
  ])('to %s is refused', (location) => {
    expect(() => target(location)).toThrow(expect.objectContaining({ code: 'bad-redirect' }));
  });

  test('without a target is refused instead of followed to its own URL', () => {
    for (const location of [undefined, '', ' ']) {
      expect(() => target(location)).toThrow(expect.objectContaining({ code: 'bad-redirect' }));
    }
  });

  test('is only one of the statuses with which a GET is repeated elsewhere', () => {
    const statuses = Array.from({ length: 400 }, (_, i) => 200 + i).filter(isRedirect);
    expect(statuses).toEqual([300, 301, 302, 303, 307, 308]);
  });
});
