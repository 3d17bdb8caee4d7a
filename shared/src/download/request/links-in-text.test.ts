import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { linksInText, MAX_LINKS } from './links-in-text.ts';

const KEY = `${'k_-'.repeat(14)}A`;

test.each([
  ['see https://a.example/x.iso.', ['https://a.example/x.iso']],
  ['(http://a.example/x_(1).iso)', ['http://a.example/x_(1).iso']],
  ['[the file](https://a.example/x.iso), and more', ['https://a.example/x.iso']],
  ['<a href="https://a.example/?a=1&amp;b=2">x</a>', ['https://a.example/?a=1&b=2']],
  ["'https://a.example/x';", ['https://a.example/x']],
  ['HTTPS://A.example/X#part\nhttps://a.example/X', ['https://a.example/X']],
  ['ftp://a.example/x mailto:a@b.example example.com http://', []],
  ['xhttp://a.example/x', []],
  ['http://[::1]:8080/x y', ['http://[::1]:8080/x']],
  ['**https://a.example/ü.iso**', ['https://a.example/%C3%BC.iso']],
  [`<https://a.example/x.exnode#k.${KEY}>.`, [`https://a.example/x.exnode#k.${KEY}`]],
  [`https://a.example/-/d/x#k.${KEY}, or`, [`https://a.example/-/d/x#k.${KEY}`]],
])('%j', (text, urls) => {
  expect(linksInText(text)).toEqual({ urls, truncated: false });
});

test('the number of links of one text has a limit', () => {
  const many = Array.from({ length: MAX_LINKS + 1 }, (_, i) => `http://a.example/${i}`);
  expect(linksInText(many.join(' ')).truncated).toBe(true);
  expect(linksInText(many.slice(1).join(' '))).toMatchObject({ truncated: false });
});

test('every link found in any text is a whole URL', () => {
  const noise = fc.array(
    fc.constantFrom('http://', 'a.b/', ')', '(', ' ', '"', '.', '#', '%', 'é'),
  );
  fc.assert(
    fc.property(noise, (parts) => {
      for (const url of linksInText(parts.join('')).urls) expect(new URL(url).href).toBe(url);
    }),
  );
});

test('a link of a megabyte of dots or brackets is passed over in time proportional to it', () => {
  const many = 2 ** 20;
  for (const run of [`${'.'.repeat(many)}a`, ')'.repeat(many), ').'.repeat(many / 2)]) {
    const { urls } = linksInText(`http://a.example/${run} http://b.example/`);
    expect(urls).toEqual(['http://b.example/']);
  }
});
