/**
 * Reads public keys and signatures of minisign (https://jedisct1.github.io/minisign/). Nothing is
 * verified here.
 */

export interface MinisignKey {
  /** Eight bytes, upper-case hexadecimal in the order that minisign shows. */
  readonly id: string;
  /** Ed25519 public key, 32 bytes. */
  readonly key: Uint8Array;
  /** Untrusted comment of the file; empty if there is none. */
  readonly comment: string;
}

export interface MinisignSignature {
  readonly id: string;
  /** True if it covers the BLAKE2b-512 digest of the content, false if the content itself. */
  readonly hashed: boolean;
  /** Ed25519 signature of the content, 64 bytes. */
  readonly signature: Uint8Array;
  readonly trustedComment: string;
  /** Ed25519 signature of `signature` and the trusted comment, 64 bytes. */
  readonly commentSignature: Uint8Array;
}

const UNTRUSTED = /^untrusted comment:[ ]?/;
const TRUSTED = /^trusted comment: /;
const KEY_BYTES = 2 + 8 + 32;
const SIGNATURE_BYTES = 2 + 8 + 64;

/** Returns true if a text begins as minisign's files do. */
export function looksLikeMinisign(text: string): boolean {
  return UNTRUSTED.test(text);
}

/** Reads a public key, with its comment or as one line of base64; undefined for any other text. */
export function parseMinisignKey(text: string): MinisignKey | undefined {
  const lines = text.trim().split(/\r?\n/);
  const hasComment = UNTRUSTED.test(lines[0] ?? '');
  const bytes = base64(lines[hasComment ? 1 : 0], KEY_BYTES);
  if (lines.length !== (hasComment ? 2 : 1) || bytes === undefined) return undefined;
  if (algorithmOf(bytes) !== 'Ed') return undefined;
  const comment = hasComment ? (lines[0] as string).replace(UNTRUSTED, '') : '';
  return { id: idOf(bytes), key: bytes.subarray(10), comment };
}

/** Reads a signature; undefined for any other text. */
export function parseMinisignSignature(text: string): MinisignSignature | undefined {
  const [first = '', second, third = '', fourth] = text.split(/\r?\n/);
  const bytes = base64(second, SIGNATURE_BYTES);
  const commentSignature = base64(fourth, 64);
  if (!UNTRUSTED.test(first) || !TRUSTED.test(third)) return undefined;
  if (bytes === undefined || commentSignature === undefined) return undefined;
  const algorithm = algorithmOf(bytes);
  if (algorithm !== 'Ed' && algorithm !== 'ED') return undefined;
  return {
    id: idOf(bytes),
    hashed: algorithm === 'ED',
    signature: bytes.subarray(10),
    trustedComment: third.replace(TRUSTED, ''),
    commentSignature,
  };
}

function algorithmOf(bytes: Uint8Array): string {
  return String.fromCharCode(bytes[0] as number, bytes[1] as number);
}

/** The id is a number in little-endian order. */
function idOf(bytes: Uint8Array): string {
  const id = [...bytes.subarray(2, 10)].reverse();
  return id.map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join('');
}

function base64(text: string | undefined, bytes: number): Uint8Array | undefined {
  if (text === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(text.trim())) return undefined;
  try {
    const decoded = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
    return decoded.length === bytes ? decoded : undefined;
  } catch {
    return undefined;
  }
}
