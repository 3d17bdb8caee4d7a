/**
 * A client that knows the digest of a file's content states it in its request (WORLDS 4.2):
 *
 * Millrace-Digest: sha-256=:<base64>:
 *
 * An edge then keeps that content apart from all other content under the same URL, so that nothing
 * that it cached for other requests is in the answer. It refuses if it sees that the origin has
 * other content: in a file of one chunk, which it hashes, or by the digest that the origin states.
 * It does not hash a longer file; the client has to.
 *
 * The value has the form of Repr-Digest with one member (RFC 9530 3).
 */

import { MillraceError } from '../../base/errors.ts';
import { type Headers, singleField } from './headers.ts';

/** Name of the request field. */
export const KNOWN_DIGEST = 'millrace-digest';

const VALUE = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;
const HEX = /^[0-9a-f]{64}$/;

/**
 * Reads the field.
 *
 * @returns SHA-256 of the whole file in lower-case hexadecimal; undefined without the field
 * @throws MillraceError `bad-request` if the field is malformed: a client that asks for certain
 *   bytes must not get any others
 */
export function readKnownDigest(headers: Headers): string | undefined {
  const value = singleField(headers, KNOWN_DIGEST);
  if (value === undefined) return undefined;
  const base64 = VALUE.exec(value.trim())?.[1];
  if (base64 === undefined) {
    throw new MillraceError('bad-request', 'Millrace-Digest is given as sha-256=:BASE64:');
  }
  return Array.from(atob(base64), (c) => c.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}

/**
 * Writes the field's value.
 *
 * @param hex SHA-256 in lower-case hexadecimal
 * @throws RangeError for other input
 */
export function formatKnownDigest(hex: string): string {
  if (!HEX.test(hex)) throw new RangeError('not a SHA-256');
  const bytes = hex.match(/../g) as string[];
  return `sha-256=:${btoa(String.fromCharCode(...bytes.map((byte) => Number.parseInt(byte, 16))))}:`;
}
