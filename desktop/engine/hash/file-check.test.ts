import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Digest, DigestAlgorithm } from '@millrace/shared/base/digest';
import type { PartialFile } from '../partial/partial-file.ts';
import { FileCheck } from './file-check.ts';

const BODY = Buffer.from('the altered file');
const file = {
  read: async (into: Buffer, at: number) => BODY.copy(into, 0, at, at + into.length),
} as unknown as PartialFile;
const digestOf = (algorithm: DigestAlgorithm, of: Buffer): Digest => ({
  algorithm,
  hex: createHash(algorithm).update(of).digest('hex'),
});

test('a digest that somebody vouches for is compared, though a server states a stronger one', async () => {
  const statements = [{ by: 'the server', digests: [digestOf('sha512', BODY)] }];
  const signed = digestOf('sha256', Buffer.from('the signed file'));
  const check = new FileCheck([...statements, { by: 'a list', digests: [signed] }], signed);
  await expect(check.whole(file, BODY.length, undefined)).rejects.toMatchObject({
    code: 'checksum-mismatch',
  });
  const right = digestOf('sha256', BODY);
  const good = new FileCheck([...statements, { by: 'a list', digests: [right] }], right);
  expect(await good.whole(file, BODY.length, undefined)).toMatchObject({ algorithm: 'sha512' });
});

test('says how many bytes have no digest, unless the whole file has one', () => {
  const pieces = { algorithm: 'sha1', pieceBytes: 10, hexes: ['a', 'b'] } as const;
  const unproven = (of: object, digests: Digest[] = []) =>
    new FileCheck([{ by: 'a torrent', digests, pieces: [{ ...pieces, ...of }] }]).unproven(35);
  expect(unproven({ from: 3 })).toBe(15);
  // The last piece is shorter.
  expect(unproven({ from: 20 })).toBe(20);
  expect(unproven({ from: 0, hexes: [] })).toBe(35);
  expect(unproven({ from: 3 }, [digestOf('sha1', BODY)])).toBe(0);
  const whole = { ...pieces, hexes: ['a', 'b', 'c', 'd'] };
  const both = new FileCheck([
    { by: 'a torrent', pieces: [{ ...pieces, algorithm: 'sha256', from: 3 }] },
    { by: 'a Metalink', pieces: [whole] },
  ]);
  expect(both.unproven(35)).toBe(0);
});
