/** Ids, secrets and tokens of a depot: made at random, and kept as SHA-256 only. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Capability, ID_BYTES, SECRET_BYTES } from '@millrace/shared/http/urls/depot-link';

/** SHA-256 of the three secrets of an allocation, hexadecimal. */
export type Proofs = Readonly<Record<Capability, string>>;

/** Proof that no secret has. */
const NO_PROOF = '0'.repeat(64);

/** Returns what is kept of a secret: its SHA-256, hexadecimal. */
export function proofOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/**
 * Returns true if a secret is the one of a proof. Takes the same time for all secrets, also where
 * there is no proof.
 */
export function proves(secret: string, proof: string | undefined): boolean {
  const kept = Buffer.from(proof ?? NO_PROOF);
  return timingSafeEqual(Buffer.from(proofOf(secret)), kept) && proof !== undefined;
}

/** Makes the id of an allocation and its three secrets. */
export function newCapabilities(): {
  readonly id: string;
  readonly secrets: Readonly<Record<Capability, string>>;
  readonly proofs: Proofs;
} {
  const [read, write, manage] = [secret(), secret(), secret()];
  return {
    id: randomBytes(ID_BYTES).toString('base64url'),
    secrets: { read, write, manage },
    proofs: { read: proofOf(read), write: proofOf(write), manage: proofOf(manage) },
  };
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}
