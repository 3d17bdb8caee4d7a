import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  algorithmNamed,
  DIGEST_ALGORITHMS,
  digestFromBase64,
  digestFromHex,
  formatAlgorithm,
  formatDigest,
  strongest,
} from './digest.ts';

describe('digests', () => {
  test.each([
    ['md5', 'md5'],
    ['MD5', 'md5'],
    ['sha', 'sha1'],
    ['sha1', 'sha1'],
    ['SHA-1', 'sha1'],
    ['sha-256', 'sha256'],
    ['Sha256', 'sha256'],
    [' sha_512 ', 'sha512'],
    ['sha-384', 'sha384'],
    ['sha-224', 'sha224'],
    ['sha3-256', undefined],
    ['sha-512/256', undefined],
    ['crc32c', undefined],
    ['', undefined],
    ['constructor', undefined],
  ])('%j means %s', (name, algorithm) => {
    expect(algorithmNamed(name)).toBe(algorithm);
  });

  test('every algorithm is understood by the name it is written with', () => {
    for (const algorithm of DIGEST_ALGORITHMS) {
      expect(algorithmNamed(formatAlgorithm(algorithm))).toBe(algorithm);
    }
    expect(formatAlgorithm('sha256')).toBe('sha-256');
    expect(formatAlgorithm('md5')).toBe('md5');
  });

  test('a digest is read back from its hexadecimal and its base64 form', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...DIGEST_ALGORITHMS),
        fc.uint8Array({ maxLength: 50 }),
        (algorithm, data) => {
          const made = createHash(algorithm).update(data).digest();
          const digest = { algorithm, hex: made.toString('hex') };
          expect(digestFromHex(algorithm, made.toString('hex').toUpperCase())).toEqual(digest);
          expect(digestFromBase64(algorithm, made.toString('base64'))).toEqual(digest);
        },
      ),
    );
  });

  test.each(['', 'ab', 'g'.repeat(32), `${'a'.repeat(32)}0`, ` ${'a'.repeat(31)}`, '-'.repeat(32)])(
    '%j is not an MD5 digest',
    (text) => {
      expect(digestFromHex('md5', text)).toBeUndefined();
    },
  );

  test.each([
    '',
    'AAAA',
    'A'.repeat(10_000_000),
    `${'A'.repeat(22)}=`,
    `${'A'.repeat(10)} ${'A'.repeat(12)}==`,
    'a'.repeat(32),
    '=='.repeat(12),
  ])('text that is not base64 of sixteen bytes is not an MD5 digest (%#)', (text) => {
    expect(digestFromBase64('md5', text)).toBeUndefined();
  });

  test('the strongest of several digests is chosen', () => {
    const md5 = { algorithm: 'md5', hex: '' } as const;
    const sha1 = { algorithm: 'sha1', hex: '' } as const;
    const sha512 = { algorithm: 'sha512', hex: '' } as const;
    expect(strongest([md5, sha512, sha1])).toBe(sha512);
    expect(strongest([sha1, md5])).toBe(sha1);
    expect(strongest([])).toBeUndefined();
  });

  test('a digest is written as the command line takes it', () => {
    expect(formatDigest({ algorithm: 'sha256', hex: 'ab' })).toBe('sha-256=ab');
  });
});
