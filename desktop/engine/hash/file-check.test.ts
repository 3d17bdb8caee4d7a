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
