/** Records of the edge's disk cache, damaged by a crash, a full disk or a person. */

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { decodeHead, encodeHead, type RecordHead } from '../../edge/src/cache/disk-record.ts';
import { mutatedBytes, mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual } from '../target.ts';

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest();

function record(meta: object, data: Buffer): Buffer {
  return Buffer.concat([encodeHead(meta, data.length, sha256(data)), data]);
}

const META = {
  key: 'e.abc,0-65535',
  url: 'http://a/ü',
  length: 3,
  fields: { 'content-type': 'a/b' },
};
const RECORDS = [
  record(META, Buffer.from('abc')),
  record({ key: '' }, Buffer.alloc(0)),
  record({ key: 'k', list: [1, { a: null }] }, Buffer.alloc(300, 7)),
];

/** Reads a record's file as the cache does; undefined if the cache would drop it. */
function readWhole(bytes: Buffer): { head: RecordHead; data: Buffer } | undefined {
  const head = decodeHead(bytes, bytes.length);
  if (head === undefined) return undefined;
  const data = bytes.subarray(head.dataStart, head.dataStart + head.dataBytes);
  return sha256(data).equals(head.digest) ? { head, data } : undefined;
}

/** Wraps any description in a valid header, as a person or a hostile disk could. */
function withDescription(text: string): Buffer {
  const json = Buffer.from(text);
  const head = encodeHead({}, 0, sha256(Buffer.alloc(0)));
  head.writeUInt32BE(json.length, 12);
  head.writeUInt32BE(crc32(json), 20);
  return Buffer.concat([head.subarray(0, 56), json]);
}

export const targets = [
  fuzzTarget({
    name: 'disk-record',
    cases: mutatedBytes(RECORDS),
    check(bytes) {
      const read = readWhole(bytes);
      if (read === undefined) return 'refused';
      const { head, data } = read;
      hold(head.dataStart + head.dataBytes === bytes.length, 'nothing lies outside the record');
      hold(typeof head.meta === 'object' && head.meta !== null, 'the description is an object');
      const original = RECORDS.find((one) => one.equals(bytes));
      hold(original !== undefined, 'a damaged record is never taken for a whole one');
      holdEqual(record(head.meta, data).toString('hex'), bytes.toString('hex'), 'it round-trips');
    },
  }),
  fuzzTarget({
    name: 'disk-record-description',
    sound: (bytes) => bytes.includes('"key"'),
    cases: fc
      .oneof(mutatedText([JSON.stringify(META), '[]', '"a"', '1']), fc.string())
      .map(withDescription),
    // Descriptions with a right checksum that are not JSON objects.
    found: ['', 'null', '{', '[1]', '7'].map(withDescription),
    check(bytes) {
      const head = decodeHead(bytes, bytes.length);
      if (head === undefined) return 'refused';
      const { meta } = head;
      hold(typeof meta === 'object' && meta !== null && !Array.isArray(meta), 'it is an object');
    },
    long: { 'brackets inside brackets': () => withDescription('['.repeat(60_000)) },
  }),
];
