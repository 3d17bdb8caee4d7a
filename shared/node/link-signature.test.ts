import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkLink, readLinkSecrets, signLink } from './link-signature.ts';

const SECRET = 'a secret of publishers';
const URL_ = new URL('https://example.com/pub/file.iso?a=1');
const EXPIRES = 2_000_000_000;
const BEFORE = EXPIRES * 1000 - 1;
const dir = mkdtempSync(join(tmpdir(), 'millrace-'));
afterAll(() => rmSync(dir, { recursive: true }));

const coded = (code: string) => expect.objectContaining({ code });
const good = (permit: string, url: URL | string, now = BEFORE, secrets = [SECRET]) =>
  checkLink(permit, new URL(url), secrets, now);

describe('a link for one URL', () => {
  const permit = signLink(URL_, EXPIRES, false, SECRET);

  test('is valid for that URL until it expires', () => {
    expect(good(permit, URL_)).toMatchObject({ permit, redirects: true });
    expect(() => good(permit, URL_, EXPIRES * 1000)).toThrow(coded('link-expired'));
  });

  test.each([
    'https://example.com/pub/file.iso?a=2',
    'https://example.com/pub/file.iso',
    'https://example.com/pub/file.iso?a=1&b',
    'https://example.com/pub/File.iso?a=1',
    'http://example.com/pub/file.iso?a=1',
    'https://example.com:8443/pub/file.iso?a=1',
    'https://www.example.com/pub/file.iso?a=1',
    'https://example.com/pub/%66ile.iso?a=1',
  ])('is not valid for %s', (url) => {
    expect(() => good(permit, url)).toThrow(coded('link-invalid'));
  });

  test('becomes invalid if any character is changed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: permit.length - 1 }),
        fc.constantFrom(...'0Az_-.'),
        (at, char) => {
          const changed = permit.slice(0, at) + char + permit.slice(at + 1);
          // The last character of base64 has unused bits.
          const same = Buffer.from(changed.split('.')[1] ?? '', 'base64url').equals(
            Buffer.from(permit.split('.')[1] as string, 'base64url'),
          );
          fc.pre(changed !== permit && !(same && changed.split('.')[0] === String(EXPIRES)));
          expect(() => good(changed, URL_)).toThrow(coded('link-invalid'));
        },
      ),
    );
    for (const other of ['', '.', `${permit}.5`, `${permit} `, permit.slice(0, -1)]) {
      expect(() => good(other, URL_)).toThrow(coded('link-invalid'));
    }
  });
});

describe('a link for everything below a URL', () => {
  const permit = signLink(new URL('https://example.com/pub/'), EXPIRES, true, SECRET);

  test.each(['file.iso', 'deep/er/file.iso?x=1', '', '?list'])(
    'is valid for %j below it',
    (rest) => {
      const grant = good(permit, `https://example.com/pub/${rest}`);
      expect(grant.redirects).toBe(false);
      expect(grant.covers(new URL('https://example.com/pub/other'))).toBe(true);
      expect(grant.covers(new URL('https://example.com/secret'))).toBe(false);
      expect(grant.covers(new URL('https://other.example/pub/x'))).toBe(false);
    },
  );

  test.each([
    'https://example.com/',
    'https://example.com/pub',
    'https://example.com/public/x',
    'https://example.com/pub/../secret',
    'https://example.com/pub/..%2fsecret',
    'https://example.com/pub/%2e%2e%2Fsecret',
    'https://example.com/pub/..%5csecret',
    'https://example.com/pub/..;/secret',
    'https://example.com/pub/%252e%252e%252fsecret',
    'http://example.com/pub/x',
    'https://example.com.evil.example/pub/x',
    'https://example.co/m/pub/x',
  ])('is not valid for %s', (url) => {
    expect(() => good(permit, url)).toThrow(coded('link-invalid'));
  });

  test('another prefix length makes the link invalid', () => {
    for (const chars of [0, 19, 20, 23, 25, 9999]) {
      const other = permit.replace(/\d+$/, String(chars));
      expect(() => good(other, 'https://example.com/pub/x')).toThrow(coded('link-invalid'));
    }
  });

  test.each(['https://example.com/pub', 'https://example.com/pub/?x=1'])(
    '%s cannot be a prefix',
    (url) => {
      expect(() => signLink(new URL(url), EXPIRES, true, SECRET)).toThrow(coded('bad-url'));
    },
  );
});

describe('the secrets', () => {
  const file = (text: string) => {
    const path = join(dir, 'secrets');
    writeFileSync(path, text);
    return path;
  };

  test('can be rotated: with two secrets, links of both are valid', () => {
    const secrets = readLinkSecrets(file(`a new secret, long enough\r\n\n${SECRET}\n`));
    expect(secrets).toEqual(['a new secret, long enough', SECRET]);
    for (const secret of secrets) {
      expect(
        good(signLink(URL_, EXPIRES, false, secret), URL_, BEFORE, [...secrets]),
      ).toBeDefined();
    }
    const gone = signLink(URL_, EXPIRES, false, SECRET);
    expect(() => good(gone, URL_, BEFORE, ['a new secret, long enough'])).toThrow(
      coded('link-invalid'),
    );
  });

  test.each([
    ['', /at least 16 characters/],
    ['short\n', /at least 16 characters/],
    [`${SECRET}\nshort\n`, /at least 16 characters/],
    [`${SECRET}\n`.repeat(5), /at most 4/],
  ])('a file with %j is refused', (text, reason) => {
    expect(() => readLinkSecrets(file(text))).toThrow(reason);
  });
});
