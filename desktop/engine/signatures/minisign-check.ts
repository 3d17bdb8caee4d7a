/** Checks minisign's signatures with pinned keys, by Node's Ed25519 and BLAKE2b. */

import { createPublicKey, verify } from 'node:crypto';
import type { MinisignKey } from '@millrace/shared/download/signatures/minisign';
import { parseMinisignSignature } from '@millrace/shared/download/signatures/minisign';
import { type Outcome, shownSigner } from '@millrace/shared/download/signatures/verdict';
import type { SignedContent } from './signed-content.ts';

const NONE = new Uint8Array();

/**
 * Checks a signature. Old signatures cover the content itself: those of files count as weak, for the
 * whole file would have to be in memory.
 */
export async function checkMinisign(
  text: string,
  content: SignedContent,
  keys: readonly MinisignKey[],
): Promise<Outcome> {
  const signature = parseMinisignSignature(text);
  if (signature === undefined) return { kind: 'doubtful', doubt: 'signature-unreadable' };
  const own = keys.filter(({ id }) => id === signature.id);
  const [first] = own;
  if (first === undefined) return { kind: 'doubtful', doubt: 'signature-unknown-key' };
  const signed = signature.hashed ? await content.digest('blake2b512', NONE, NONE) : content.bytes;
  if (signed === undefined) return { kind: 'doubtful', doubt: 'signature-weak' };
  const comment = Buffer.concat([signature.signature, Buffer.from(signature.trustedComment)]);
  const good = own.find(
    ({ key }) =>
      isSigned(key, signed, signature.signature) &&
      isSigned(key, comment, signature.commentSignature),
  );
  const { id: fingerprint } = first;
  const by = nameOf(good ?? first);
  return good === undefined
    ? { kind: 'bad', by, fingerprint }
    : { kind: 'good', by, fingerprint, signedAt: undefined };
}

function nameOf({ comment, id }: MinisignKey): string {
  return shownSigner(comment) || id;
}

function isSigned(key: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  const x = Buffer.from(key).toString('base64url');
  const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });
  return verify(null, bytes, publicKey, signature);
}
