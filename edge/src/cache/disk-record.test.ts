import { crc32 } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeHead, encodeHead, MAX_HEAD_BYTES, recordPath } from './disk-record.ts';

const DIGEST = Buffer.from('0123456789abcdef0123456789abcdef');
const DATA = 1000;
const HEAD = encodeHead({ key: 'k', more: ['ü', 1] }, DATA, DIGEST);
const FILE = HEAD.length + DATA;

describe('disk records', () => {
  test('the head is read as it was written', () => {
    fc.assert(
      fc.property(
        fc.jsonValue().map((value) => ({ key: 'k', value })),
        fc.nat(),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (meta, dataBytes, digest) => {
          const head = encodeHead(meta, dataBytes, Buffer.from(digest));
          const decoded = decodeHead(head, head.length + dataBytes);
          expect(decoded).toEqual({
            meta: JSON.parse(JSON.stringify(meta)),
            dataStart: head.length,
            dataBytes,
            digest: Buffer.from(digest),
          });
        },
      ),
    );
  });

  test('bytes of the file after the head are ignored', () => {
    const start = Buffer.concat([HEAD, Buffer.alloc(DATA, 1)]);
    expect(decodeHead(start, FILE)?.dataStart).toBe(HEAD.length);
  });

  test('every flipped bit of the head is noticed, or is one of the digest', () => {
    for (let bit = 0; bit < HEAD.length * 8; bit++) {
      const damaged = Buffer.from(HEAD);
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const decoded = decodeHead(damaged, FILE);
      const inDigest = bit >> 3 >= 24 && bit >> 3 < 56;
      if (inDigest) expect(decoded?.digest.equals(DIGEST)).toBe(false);
      else expect(decoded).toBeUndefined();
    }
  });

  test('a head that is cut off anywhere is damaged', () => {
    for (let bytes = 0; bytes < HEAD.length; bytes++) {
      expect(decodeHead(HEAD.subarray(0, bytes), FILE)).toBeUndefined();
      expect(decodeHead(HEAD.subarray(0, bytes), bytes)).toBeUndefined();
    }
  });

  test('a file that is shorter or longer than its record says is damaged', () => {
    expect(decodeHead(HEAD, FILE)).toBeDefined();
    for (const bytes of [FILE - 1, FILE + 1, HEAD.length, 0]) {
      expect(decodeHead(HEAD, bytes)).toBeUndefined();
    }
  });

  test('a description with a right checksum that is not a JSON object is damaged', () => {
    for (const text of ['', 'null', '{', '[1]', '7', '"key"']) {
      const json = Buffer.from(text);
      const fixed = encodeHead({}, 0, DIGEST).subarray(0, 56);
      fixed.writeUInt32BE(json.length, 12);
      fixed.writeUInt32BE(crc32(json), 20);
      const file = Buffer.concat([fixed, json]);
      expect(decodeHead(file, file.length)).toBeUndefined();
    }
  });

  test('any other file is damaged', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(300), (bytes, length) => {
        expect(decodeHead(Buffer.from(bytes), length)).toBeUndefined();
        const alike = Buffer.concat([HEAD.subarray(0, 12), Buffer.from(bytes)]);
        expect(decodeHead(alike, length)).toBeUndefined();
      }),
    );
  });

  test('records are spread over folders, under names that any file system takes', () => {
    expect(recordPath('key')).toBe(
      '2c/70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683',
    );
    const folders = new Set<string>();
    for (let i = 0; i < 2000; i++) {
      expect(recordPath(`https://example.com/${i}?x=../../y`)).toMatch(
        /^[0-9a-f]{2}\/[0-9a-f]{62}$/,
      );
      folders.add(recordPath(`https://example.com/${i}?x=../../y`).slice(0, 2));
    }
    expect(folders.size).toBe(256);
  });

  test('the longest head has room for a long name', () => {
    expect(MAX_HEAD_BYTES).toBeGreaterThan(
      encodeHead({ key: 'k'.repeat(16_384) }, 1, DIGEST).length,
    );
  });
});
