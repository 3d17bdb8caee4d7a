import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { BodyCipher } from './body-cipher.ts';
import { hkdf, keysOf, newKey } from './file-keys.ts';
import { openExnode, seal, sealHead, unseal } from './sealed-head.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const hexOf = (value: Uint8Array) => Buffer.from(value).toString('hex');

describe('published test vectors', () => {
  test('of HKDF with SHA-256 (RFC 5869 A.1 to A.3)', () => {
    const key = bytes('0b'.repeat(22));
    const salt = bytes('000102030405060708090a0b0c');
    const info = bytes('f0f1f2f3f4f5f6f7f8f9');
    expect(hexOf(hkdf(key, salt, info, 42))).toBe(
      '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
    );
    const run = (from: number, to: number) =>
      Buffer.from(Array.from({ length: to - from }, (_, i) => from + i));
    expect(hexOf(hkdf(run(0, 0x50), run(0x60, 0xb0), run(0xb0, 0x100), 82))).toBe(
      'b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87',
    );
    expect(hexOf(hkdf(key, Buffer.alloc(0), Buffer.alloc(0), 42))).toBe(
      '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
    );
  });

  test('of AES-256 in CTR mode (NIST SP 800-38A F.5.5), also cut at any byte', () => {
    const key = bytes('603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4');
    const first = BigInt('0xf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
    const plain = bytes(
      '6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51' +
        '30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710',
    );
    const cipher =
      '601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5' +
      '2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6';
    for (let cut = 0; cut <= plain.length; cut++) {
      const one = new BodyCipher(key, first);
      const end = one.apply(cut, plain.subarray(cut));
      expect(hexOf(Buffer.concat([one.apply(0, plain.subarray(0, cut)), end]))).toBe(cipher);
    }
  });

  test('of AES-256 in GCM (McGrew and Viega, cases 13 to 15)', () => {
    const [zeroKey, zeroNonce] = [Buffer.alloc(32), Buffer.alloc(12)];
    expect(hexOf(seal(zeroKey, zeroNonce, Buffer.alloc(0)).subarray(12))).toBe(
      '530f8afbc74536b9a963b4f1c4cb738b',
    );
    expect(hexOf(seal(zeroKey, zeroNonce, Buffer.alloc(16)).subarray(12))).toBe(
      'cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919',
    );
    const plain = bytes(
      'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72' +
        '1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255',
    );
    const key = bytes('feffe9928665731c6d6a8f9467308308'.repeat(2));
    expect(hexOf(seal(key, bytes('cafebabefacedbaddecaf888'), plain).subarray(12))).toBe(
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa' +
        '8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad' +
        'b094dac5d93471bdec1a502270e3cc6c',
    );
  });
});

test('a range that is decrypted alone is what it is in the whole file', () => {
  const seed = testSeed('ranges of bodies');
  const random = seededRandom(seed);
  const key = newKey();
  const plain = Buffer.from(Array.from({ length: 10_000 }, () => Math.floor(random() * 256)));
  const body = new BodyCipher(key).apply(0, plain);
  expect(body.length).toBe(plain.length);
  const cipher = new BodyCipher(key);
  for (let i = 0; i < 200; i++) {
    const start = Math.floor(random() * plain.length);
    const end = start + Math.floor(random() * (plain.length - start));
    expect(cipher.apply(start, body.subarray(start, end))).toEqual(plain.subarray(start, end));
  }
  // Counters above 2^32 do not begin again.
  const far = 2 ** 40 + 5;
  expect(new BodyCipher(key).apply(far, plain)).not.toEqual(new BodyCipher(key).apply(5, plain));
});

describe('a sealed head', () => {
  const root = 'ab'.repeat(32);
  const head = { name: 'Kündigung.pdf', type: 'application/pdf', sha256: 'cd'.repeat(32), root };
  const key = newKey();
  const exnode: Exnode = {
    ...{ name: 'encrypted', type: 'application/octet-stream', size: 0, root, extents: [] },
    blocks: { algorithm: 'sha256', pieceBytes: 2 ** 20, hexes: [] },
    sealed: sealHead(key, head).toString('base64'),
  };
  const text = (one: Uint8Array) => Buffer.from(one).toString('base64url');

  /** Opens an exNode. @returns the code of the error */
  function codeOf(one: Exnode): string {
    try {
      openExnode(one);
    } catch (error) {
      if (isMillraceError(error)) return error.code;
    }
    return 'none';
  }

  test('is opened by its key, and says what the file is', () => {
    const { name, type, sha256 } = head;
    const opened = openExnode({ ...exnode, key: text(key) });
    expect(opened).toMatchObject({ name, type, sha256, root });
    expect(opened.bodyKey).toEqual(keysOf(key).body);
    expect(Buffer.from(exnode.sealed as string, 'base64').toString('latin1')).not.toContain('pdf');
  });

  test('is opened by no other key, nor without one, nor by a part of it', () => {
    expect(codeOf(exnode)).toBe('wrong-key');
    expect(codeOf({ ...exnode, key: text(newKey()) })).toBe('wrong-key');
    for (let chars = 0; chars < 43; chars++) {
      expect(codeOf({ ...exnode, key: text(key).slice(0, chars) })).toBe('wrong-key');
    }
  });

  test('is refused after any change of a bit, and in the exNode of other bytes', () => {
    const sealed = Buffer.from(exnode.sealed as string, 'base64');
    for (let bit = 0; bit < 8 * sealed.length; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(unseal(keysOf(key).head, changed)).toBeUndefined();
    }
    expect(codeOf({ ...exnode, key: text(key), root: 'ef'.repeat(32) })).toBe('bad-exnode');
    expect(codeOf({ ...exnode, key: text(key), sealed: '' })).toBe('wrong-key');
  });

  test('is another one each time, though the key and the file are the same', () => {
    const one = sealHead(key, head);
    expect(sealHead(key, head).subarray(0, 12)).not.toEqual(one.subarray(0, 12));
  });
});
