import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyUrl } from '../../../testing/draws/any-text.ts';
import { isDownloadUrl } from './download-url.ts';
import { linkOf, nameOfUrl, readArguments, urlsOfCopied, urlsOfLink } from './outside-links.ts';

const ISO = 'https://example.com/a/file.iso?x=1&y=2';

describe('urlsOfLink', () => {
  test.each([
    [`millrace:${ISO}`, [ISO]],
    [`MILLRACE:${ISO}`, [ISO]],
    [`millrace://${ISO}`, [ISO]],
    // Chromium takes "https" for a host and drops its colon.
    ['millrace://https//example.com/a.iso', ['https://example.com/a.iso']],
    [`millrace:?url=${encodeURIComponent(ISO)}`, [ISO]],
    [`millrace://add?url=${encodeURIComponent(ISO)}&url=http%3A%2F%2Fb%2F`, [ISO, 'http://b/']],
    [`millrace://add/?url=${encodeURIComponent(ISO)}`, [ISO]],
  ])('reads %s', (link, urls) => {
    expect(urlsOfLink(link)).toEqual(urls);
  });

  test.each([
    'millrace:',
    'millrace:file:///etc/passwd',
    'millrace:javascript:alert(1)',
    'millrace:?url=file%3A%2F%2F%2Fetc%2Fpasswd',
    'millrace:?url=ftp%3A%2F%2Fhost%2Ffile',
    'millrace:https://user:secret@example.com/',
    `millrace:https://example.com/${'a'.repeat(9000)}`,
    'other:https://example.com/',
  ])('finds nothing in %s', (link) => {
    expect(urlsOfLink(link)).toEqual([]);
  });

  test('reads what linkOf writes, each URL once', () => {
    fc.assert(
      fc.property(fc.array(anyUrl(), { maxLength: 20 }), (urls) => {
        expect(urlsOfLink(linkOf(urls))).toEqual([...new Set(urls)]);
      }),
    );
  });

  test('accepts any text, and returns at most 50 URLs', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const url of urlsOfLink(`millrace:${text}`)) expect(isDownloadUrl(url)).toBe(true);
      }),
    );
    const many = Array.from({ length: 80 }, (_, i) => `https://example.com/${i}`);
    expect(urlsOfLink(linkOf(many))).toEqual(many.slice(0, 50));
  });
});

test('readArguments finds links and files among the arguments that the system passes', () => {
  const args = [
    '/opt/Millrace/millrace',
    '--enable-features=x',
    'resources/app.asar',
    `millrace:${ISO}`,
    ISO,
    '/home/me/Some File.META4',
    'b.metalink',
    'notes.txt',
  ];
  expect(readArguments(args)).toEqual({
    urls: [ISO],
    files: ['/home/me/Some File.META4', 'b.metalink'],
    hidden: false,
  });
  expect(readArguments(['app', '--hidden'])).toEqual({ urls: [], files: [], hidden: true });
});

describe('urlsOfCopied', () => {
  test('finds one or several links to files', () => {
    expect(urlsOfCopied(` ${ISO}\n`)).toEqual([ISO]);
    expect(urlsOfCopied(`${ISO}\r\nhttps://example.com/page`)).toHaveLength(2);
    expect(urlsOfCopied('https://example.com/many.meta4')).toHaveLength(1);
  });

  test.each([
    '',
    'see https://example.com/file.iso',
    'https://example.com/',
    'https://example.com/news.html',
    'https://example.com.iso/',
    `https://example.com/${'a/'.repeat(40_000)}b.iso`,
  ])('finds nothing in %.60s', (text) => {
    expect(urlsOfCopied(text)).toEqual([]);
  });
});

test('nameOfUrl returns the name of the file, or else the host', () => {
  expect(nameOfUrl('https://example.com/a%20b.iso?x')).toBe('a b.iso');
  expect(nameOfUrl('https://example.com/%E0%A4.iso')).toBe('%E0%A4.iso');
  expect(nameOfUrl('https://example.com/')).toBe('example.com');
});
