import { describe, expect, test } from '@jest/globals';
import { currentAge, isFresh } from '@millrace/shared/http/answers/freshness';
import type { Pointer } from '../files/file-version.ts';
import { readVersion, writeTunnel, writeVersion } from './version-message.ts';

const URL = 'https://example.com/file.iso';
const pointer: Pointer = {
  version: {
    url: URL,
    scope: 'public',
    length: 5_000_000,
    validators: { etag: '"abc"', lastModified: 784_111_777_000, lastModifiedIsStrong: true },
    tag: 'e.abc',
    fields: { 'content-type': 'application/octet-stream', etag: '"abc"' },
  },
  freshness: {
    notStorable: undefined,
    initialAgeMs: 2000,
    arrivedAt: 1_000_000,
    lifetimeMs: 60_000,
    staleIfErrorMs: 1000,
  },
  finalUrl: 'https://mirror.example.com/file.iso',
};

/** Returns the message as it reaches the other node, with parts of it changed. */
function altered(change: Record<string, unknown>): string {
  return JSON.stringify({ ...JSON.parse(writeVersion(pointer, 1_000_000)), ...change });
}

describe('a message between nodes about a file', () => {
  test('comes out as it went in, whatever the clocks say', () => {
    // 10 s after it came from the origin; by the reader's clock it is another year.
    const read = readVersion(writeVersion(pointer, 1_010_000), URL, 50_000_000);
    if (read.kind !== 'file') throw new Error('not a file');
    expect(read.pointer.version).toEqual(pointer.version);
    expect(read.pointer.finalUrl).toBe(pointer.finalUrl);
    expect(currentAge(read.pointer.freshness, 50_000_000)).toBe(12_000);
    expect(isFresh(read.pointer.freshness, 50_047_999)).toBe(true);
    expect(isFresh(read.pointer.freshness, 50_048_000)).toBe(false);
  });

  test('has fields with digits apart, which nodes of earlier versions would refuse', () => {
    const fields = { etag: '"abc"', 'x-amz-id-2': 'a', p3p: 'b' };
    const freshness = { ...pointer.freshness, staleWhileRevalidateMs: 5000 };
    const told = { ...pointer, version: { ...pointer.version, fields }, freshness };
    const text = writeVersion(told, 1_000_000);
    expect(JSON.parse(text).fields).toEqual({ etag: '"abc"' });
    const read = readVersion(text, URL, 0);
    expect(read).toMatchObject({ pointer: { version: { fields } } });
    expect(read).toMatchObject({ pointer: { freshness: { staleWhileRevalidateMs: 5000 } } });
  });

  test('may say that the file can only be tunnelled', () => {
    const read = readVersion(writeTunnel('vary-x-user'), URL, 0);
    expect(read).toEqual({ kind: 'tunnel', reason: 'vary-x-user' });
  });

  test.each<[string, string]>([
    ['no JSON', 'x'],
    ['nothing that pins the version', altered({ validators: {} })],
    ['a weak entity tag only', altered({ validators: { weakEtag: 'W/"a"' } })],
    ['a negative length', altered({ length: -1 })],
    ['a length that is not a whole number', altered({ length: 1.5 })],
    ['a negative age', altered({ ageMs: -1 })],
    ['a field that would end a header', altered({ fields: { link: 'a\r\nset-cookie: b' } })],
    ['a field name that is not a token', altered({ fields: { 'a b': 'c' } })],
    ['a field that is far too long', altered({ fields: { link: 'a'.repeat(10_000) } })],
    ['a final URL that cannot be fetched', altered({ finalUrl: 'file:///etc/passwd' })],
    ['a reason that would end a header', writeTunnel('a\r\nb')],
  ])('is refused if it holds %s', (_, text) => {
    expect(() => readVersion(text, URL, 0)).toThrow();
  });
});
