/** The digest by which a node signs its answers. */

import { createHash } from 'node:crypto';

/** Computes the SHA-256 of a text's UTF-8, hexadecimal. */
export function textDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
