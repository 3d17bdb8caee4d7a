import { expect, test } from '@jest/globals';
import { formatGuestLink, isClaim, parseGuestLink } from './guest-link.ts';

const [ID, W, R] = ['i'.repeat(16), 'w'.repeat(32), 'r'.repeat(32)];
const space = (base: string, id = ID) => ({
  write: `${base}/-/depot/w/${id}/${W}`,
  read: `${base}/-/d/${id}/${R}/file`,
});

test.each(['https://a.example', 'http://127.0.0.1:3125', 'https://a.example/behind/a/prefix'])(
  'a link for guests names its spaces in the fragment: %s',
  (base) => {
    const spaces = [space(base), space(base, 'j'.repeat(16))];
    const link = formatGuestLink(spaces);
    expect(link.split('#')[0]).toBe(`${base}/-/depot/guest`);
    expect(link).toContain(`#g.${ID}.${W}.${R}~`);
    expect(parseGuestLink(link)).toEqual(spaces);
  },
);

test('links that are cut off or of another kind are refused', () => {
  const link = formatGuestLink([space('https://a.example')]);
  for (const bad of [
    ...['', 'https://a.example/', link.replace('#g.', '#k.'), link.replace('guest', 'gust')],
    ...[link.slice(0, -1), `${link}~`, link.replace(/#.*/, ''), 'ftp://a/-/depot/guest#g.x'],
    `${link}${`~${ID}.${W}.${R}`.repeat(20)}`,
  ]) {
    expect(() => parseGuestLink(bad)).toThrow();
  }
});

test('a claim has at least as many characters as 128 random bits need', () => {
  expect(isClaim('a'.repeat(22))).toBe(true);
  for (const bad of [undefined, '', 'a'.repeat(21), 'a'.repeat(65), `${'a'.repeat(30)} b`]) {
    expect(isClaim(bad)).toBe(false);
  }
});
