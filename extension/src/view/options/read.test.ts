import { describe, expect, test } from '@jest/globals';
import { anyUrl } from '@millrace/shared/testing/draws/any-text';
import fc from 'fast-check';
import { settingsSchema } from '../../contract/settings.ts';
import { textFor } from '../../text/text.ts';
import { readEdgeHosts, readEdgeUrl, readHosts, readSize, readTypes, writeSize } from './read.ts';

const text = textFor(['en']);
const bad = { problem: expect.any(String) };

describe('sizes', () => {
  test.each([
    ['16 MiB', 16 * 1024 ** 2],
    ['1,5 GiB', 1.5 * 1024 ** 3],
    ['0', 0],
    ['1 TiB', 2 ** 40],
  ])('%s', (typed, value) => expect(readSize(text, typed)).toEqual({ value }));

  test.each(['', '16 apples', '-1', '1e3', '2 TiB', 'NaN'])('%j is not a size', (typed) => {
    expect(readSize(text, typed)).toEqual(bad);
  });

  test('that are written are read as the same number of bytes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (bytes) => {
        expect(readSize(text, writeSize(bytes))).toEqual({ value: bytes });
      }),
    );
  });
});

test.each([
  ['iso, .ZIP *.tar.gz;iso', ['iso', 'zip', 'tar.gz']],
  ['', []],
])('types: %j', (typed, value) => expect(readTypes(text, typed, ['exe'])).toEqual({ value }));

test.each(['exe', 'a/b', '*', 'x'.repeat(21)])('types: %j is refused', (typed) => {
  expect(readTypes(text, typed, ['exe'])).toEqual(bad);
});

test.each([
  ['example.com', 'example.com'],
  ['https://Example.COM:8080/path?x#y', 'example.com'],
  ['*.example.com', 'example.com'],
  ['münchen.example', 'xn--mnchen-3ya.example'],
  ['localhost', 'localhost'],
  ['[::1]', '[::1]'],
])('site: %s is %s', (typed, host) => expect(readHosts(text, typed)).toEqual({ value: [host] }));

test.each(['a*b', 'c!', 'me:secret@example.com', 'https://', '..', 'x'.repeat(254)])(
  'site: %s is refused',
  (typed) => expect(readHosts(text, typed)).toEqual(bad),
);

test('a site cannot be in both lists', () => {
  expect(readHosts(text, 'a.example b.example', ['b.example'])).toEqual(bad);
});

describe('edges', () => {
  const edges = [{ url: 'https://edge.example', hosts: ['a.example'] }];
  test.each([
    ['https://other.example/', 'https://other.example'],
    [' http://127.0.0.1:3125/base/ ', 'http://127.0.0.1:3125/base'],
  ])('%s', (typed, value) => expect(readEdgeUrl(text, typed, edges)).toEqual({ value }));

  test.each([
    '',
    'edge.example',
    'ftp://edge.example',
    'https://me@edge.example',
    'https://edge.example?x',
    'https://edge.example/#x',
    'https://EDGE.example/',
    'https://',
  ])('%j cannot be added', (typed) => expect(readEdgeUrl(text, typed, edges)).toEqual(bad));

  test('need a site', () => expect(readEdgeHosts(text, ' , ')).toEqual(bad));
});

test('every value that is read can be saved, whatever is typed', () => {
  const typed = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.stringMatching(/^[a-z.*:/@ ,[\]-]{0,30}$/),
    anyUrl(),
  );
  fc.assert(
    fc.property(typed, (said) => {
      const size = readSize(text, said);
      const types = readTypes(text, said, []);
      const hosts = readHosts(text, said);
      const url = readEdgeUrl(text, said, []);
      const settings = {
        ...('value' in size && { minBytes: size.value }),
        ...('value' in types && { alwaysTypes: types.value }),
        ...('value' in hosts && { offHosts: hosts.value }),
        ...('value' in url && { edges: [{ url: url.value, hosts: [] }] }),
      };
      expect(settingsSchema.safeParse(settings).success).toBe(true);
    }),
  );
});
