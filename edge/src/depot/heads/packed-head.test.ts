import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Head, parseHead } from './head.ts';
import { idOf, lengthOf, mayHaveType, packHead, unpackHead } from './packed-head.ts';

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((of) => Buffer.from(of).toString('hex'));
const digest = hex(32);
const count = fc.maxSafeNat();
const time = fc.double({ min: 0, max: 1e15, noNaN: true });
const head = fc
  .record(
    {
      format: fc.constant(1 as const),
      id: hex(12).map((of) => Buffer.from(of, 'hex').toString('base64url')),
      owner: fc.string({ unit: 'grapheme' }),
      proofs: fc.record({ read: digest, write: digest, manage: digest }),
      ...{ createdAt: time, expiresAt: time, bytes: count },
      ...{ grows: fc.boolean(), resumable: fc.boolean() },
      name: fc.string({ unit: 'grapheme', maxLength: 300 }),
      type: fc.constantFrom('text/plain', 'application/x"y\\é'),
      ...{ length: count, sha256: digest },
      final: fc.record({ length: count, sha256: digest, at: time }),
      edition: fc.integer({ min: 1 }),
      ...{ guest: fc.constant(true as const), claim: digest, damaged: fc.constant(true as const) },
    },
    {
      requiredKeys: [
        ...(['format', 'id', 'owner', 'proofs', 'createdAt', 'expiresAt', 'bytes'] as const),
        ...(['grows', 'resumable', 'final'] as const),
      ],
    },
  )
  .chain((one) =>
    // As most uploads: what was stated has come.
    fc.boolean().map((isSame): Head & Required<Pick<Head, 'final'>> => {
      if (!isSame) return one;
      return { ...one, length: one.final.length, sha256: one.final.sha256 };
    }),
  );

test('a packed head is the same when it is unpacked, whatever it has', () => {
  fc.assert(
    fc.property(head, (one) => {
      const packed = packHead(one);
      const read = parseHead(JSON.stringify(one));
      // Once from the string, once from memory.
      for (let i = 0; i < 2; i++) expect(unpackHead(packed)).toEqual(read);
      expect([idOf(packed), lengthOf(packed)]).toEqual([one.id, one.final.length]);
      if (one.type !== undefined) expect(mayHaveType(packed, one.type)).toBe(true);
      expect(mayHaveType(packed, 'application/other')).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test('a packed head takes a third of a kilobyte', () => {
  const proof = 'ab'.repeat(32);
  const packed = packHead({
    ...{ format: 1, id: 'zCwaobPqR97EU1yy', owner: 'alice', bytes: 5, grows: false },
    ...{ proofs: { read: proof, write: proof, manage: proof }, resumable: true },
    ...{ createdAt: 1.8e12, expiresAt: 1.9e12, name: 'talk.tar', type: 'application/x-tar' },
    ...{ length: 5, sha256: proof, final: { length: 5, sha256: proof, at: 1.8e12 } },
  });
  expect(packed.length).toBeLessThan(330);
});
