import { describe, expect, test } from '@jest/globals';
import { isMovedPage } from './moved-page.ts';

const HTML = { 'content-type': 'text/html; charset=utf-8' };
const moved = (from: string, to: string, headers: Record<string, string> = HTML) =>
  isMovedPage(new URL(from), new URL(to), headers);

describe('a page has moved', () => {
  test.each([
    ['when a slash was added', 'http://a/dir', 'http://a/dir/'],
    ['when a slash was taken away', 'http://a/dir/', 'http://a/dir'],
    ['to another folder', 'http://a/latest/', 'http://a/v2/'],
    ['to another host', 'http://a/dir/', 'http://b/dir/'],
    ['to another scheme', 'http://a/dir/', 'https://a/dir/'],
    ['to another name, which links of a query alone keep', 'http://a/list', 'http://a/list.php'],
  ])('%s', (_how, from, to) => {
    expect(moved(from, to)).toBe(true);
  });

  test.each([
    ['application/xhtml+xml'],
    ['TEXT/HTML'],
    ['application/vnd.apple.mpegurl'],
    ['application/x-mpegURL'],
    ['application/dash+xml'],
    ['audio/mpegurl'],
  ])('if its type is %s', (type) => {
    expect(moved('http://a/dir', 'http://a/dir/', { 'content-type': type })).toBe(true);
  });
});

describe('nothing has moved', () => {
  test.each([
    ['without a redirect', 'http://a/dir/', 'http://a/dir/'],
    ['if only the query is another', 'http://a/dir/', 'http://a/dir/?ticket=1'],
  ])('%s', (_how, from, to) => {
    expect(moved(from, to)).toBe(false);
  });

  test.each<[string, Record<string, string>]>([
    ['a file', { 'content-type': 'application/octet-stream' }],
    ['a file without a type', {}],
    ['a script', { 'content-type': 'text/javascript' }],
    ['a page that is saved', { ...HTML, 'content-disposition': 'Attachment; filename=a.html' }],
  ])('for %s, whatever the redirect', (_what, headers) => {
    expect(moved('http://a/dir', 'http://b/dir/', headers)).toBe(false);
  });

  test('but a page that is shown inline may have', () => {
    const headers = { ...HTML, 'content-disposition': 'inline; filename=attachment.html' };
    expect(moved('http://a/dir', 'http://a/dir/', headers)).toBe(true);
  });
});
