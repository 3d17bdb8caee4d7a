import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatKnownDigest, KNOWN_DIGEST, readKnownDigest } from './known-digest.ts';

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describe('the digest that a client knows', () => {
  test('is written like Repr-Digest', () => {
    expect(formatKnownDigest(EMPTY)).toBe('sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:');
  });

  test('is read as it was written', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{64}$/), (hex) => {
        expect(readKnownDigest({ [KNOWN_DIGEST]: ` ${formatKnownDigest(hex)} ` })).toBe(hex);
      }),
    );
  });

  test('is undefined without the field', () => {
    expect(readKnownDigest({})).toBeUndefined();
  });

  test.each([
    '',
    EMPTY,
    `sha-256=${EMPTY}`,
    'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:',
    'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:, md5=:1B2M2Y8AsgTpgAmY7PhCfg==:',
    'sha-512=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:',
    'sha-256=:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=:',
  ])('%j is malformed, and refused instead of ignored', (value) => {
    expect(() => readKnownDigest({ [KNOWN_DIGEST]: value })).toThrow('sha-256=:BASE64:');
  });

  test.each(['', EMPTY.toUpperCase(), EMPTY.slice(1)])('%j is not a digest', (hex) => {
    expect(() => formatKnownDigest(hex)).toThrow(RangeError);
  });
});
