/** Ids and secrets of allocations, made at random. */

import { randomBytes } from 'node:crypto';
import { DEPOT_TAG_BYTES } from '@millrace/shared/cdn/depot/depot-file';
import { type Capability, ID_BYTES, SECRET_BYTES } from '@millrace/shared/http/urls/depot-link';
import { proofOf } from '../policy/proofs.ts';

/** SHA-256 of the three secrets of an allocation, hexadecimal. */
export type Proofs = Readonly<Record<Capability, string>>;

/**
 * Makes the id of an allocation and its three secrets.
 *
 * @param tag name of the depot, with which the id ends
 */
export function newCapabilities(tag: string): {
  readonly id: string;
  readonly secrets: Readonly<Record<Capability, string>>;
  readonly proofs: Proofs;
} {
  const [read, write, manage] = [secret(), secret(), secret()];
  return {
    id: randomBytes(ID_BYTES - DEPOT_TAG_BYTES).toString('base64url') + tag,
    secrets: { read, write, manage },
    proofs: { read: proofOf(read), write: proofOf(write), manage: proofOf(manage) },
  };
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}
