/** Seals and opens the heads of encrypted files: AES-256-GCM (NIST SP 800-38D). */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Exnode, ReadableExnode } from '@millrace/shared/exnode/exnode';
import {
  formatHead,
  type Head,
  isKeyText,
  NEUTRAL_NAME,
  NEUTRAL_TYPE,
  NONCE_BYTES,
  parseHead,
  TAG_BYTES,
} from '@millrace/shared/exnode/seal';
import { keysOf } from './file-keys.ts';

const CIPHER = 'aes-256-gcm';

/**
 * Seals a head.
 *
 * @param key 32 bytes
 * @param nonce used once with this key. It is random by default, because an upload that is continued
 *   after its end was not written down seals its head again, perhaps with another name
 * @returns nonce, ciphertext and tag
 */
export function sealHead(key: Uint8Array, head: Head, nonce = randomBytes(NONCE_BYTES)): Buffer {
  return seal(keysOf(key).head, nonce, Buffer.from(formatHead(head)));
}

/** Returns the members by which the exNode of an encrypted file differs from that of a plain one. */
export function sealedMembers(key: Uint8Array, head: Head) {
  return {
    ...{ name: NEUTRAL_NAME, type: NEUTRAL_TYPE, sha256: undefined },
    sealed: sealHead(key, head).toString('base64'),
    key: Buffer.from(key).toString('base64url'),
  };
}

/** Encrypts bytes, and proves them. @returns nonce, ciphertext and tag */
export function seal(key: Uint8Array, nonce: Uint8Array, bytes: Uint8Array): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts what `seal` has made. @returns undefined if it was made with another key, or changed */
export function unseal(key: Uint8Array, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const end = sealed.length - TAG_BYTES;
  const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAuthTag(sealed.subarray(end));
  const bytes = cipher.update(sealed.subarray(NONCE_BYTES, end));
  try {
    return Buffer.concat([bytes, cipher.final()]);
  } catch {
    return undefined;
  }
}

/**
 * Opens an encrypted exNode with its key; others stay as they are.
 *
 * @returns the exNode with name, type and digest of the plain file, and the key of the body
 * @throws MillraceError `wrong-key`; `bad-exnode` if the head was sealed for other bytes
 */
export function openExnode(exnode: Exnode): ReadableExnode {
  const { sealed, key: text, root } = exnode;
  if (sealed === undefined) return exnode;
  if (text === undefined) throw new MillraceError('wrong-key', { code: 'file-encrypted' });
  if (!isKeyText(text)) throw new MillraceError('wrong-key', { code: 'key-not-complete' });
  const keys = keysOf(Buffer.from(text, 'base64url'));
  const bytes = unseal(keys.head, Buffer.from(sealed, 'base64'));
  if (bytes === undefined) throw new MillraceError('wrong-key', { code: 'key-of-other-file' });
  const head = parseHead(bytes.toString());
  if (head.root !== root) {
    throw new MillraceError('bad-exnode', 'its sealed part belongs to other bytes');
  }
  const { name, type, sha256 } = head;
  return { ...exnode, name, type, sha256, bodyKey: keys.body };
}
