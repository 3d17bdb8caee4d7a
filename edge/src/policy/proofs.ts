/** Secrets that are kept as SHA-256 only, so that a stolen disk gives none away. */

import { createHash, timingSafeEqual } from 'node:crypto';

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
  return isProved(proofOf(secret), proof);
}

/** The same for the SHA-256 of a secret, hexadecimal. */
export function isProved(given: string, proof: string | undefined): boolean {
  return isSameProof(given, proof ?? NO_PROOF) && proof !== undefined;
}

/** Compares two proofs in a time that does not depend on them. */
export function isSameProof(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
