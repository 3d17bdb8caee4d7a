/** The keys of an encrypted file. */

import { hkdfSync, randomBytes } from 'node:crypto';
import { BODY_CONTEXT, HEAD_CONTEXT, KEY_BYTES } from '@millrace/shared/exnode/seal';

export interface FileKeys {
  /** Key of the sealed head. */
  readonly head: Uint8Array;
  /** Key of the body. */
  readonly body: Uint8Array;
}

/**
 * Makes a key. It comes from the system's random source and never from the file: a key made of the
 * file would tell who has the file that the depot stores it.
 */
export function newKey(): Uint8Array {
  return randomBytes(KEY_BYTES);
}

/** Derives the keys of head and body, so that neither is used in two ways. */
export function keysOf(key: Uint8Array): FileKeys {
  const derive = (context: string) => hkdf(key, new Uint8Array(), Buffer.from(context), KEY_BYTES);
  return { head: derive(HEAD_CONTEXT), body: derive(BODY_CONTEXT) };
}

/** HKDF with SHA-256 (RFC 5869). @param bytes length of the result */
export function hkdf(
  key: Uint8Array,
  salt: Uint8Array,
  info: Uint8Array,
  bytes: number,
): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, salt, info, bytes));
}
