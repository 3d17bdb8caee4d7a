/** Compares bodies with the digests that origins state, so that no damaged one is cached. */

import { createHash } from 'node:crypto';
import { strongest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { contentDigests, fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { formatKnownDigest } from '@millrace/shared/http/fields/known-digest';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import { sha256 } from '../files/chunk.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';

/**
 * Compares a body with the Content-Digest of its answer (RFC 9530, 2), if there is one.
 *
 * @throws MillraceError `wrong-digest`
 */
export function checkContent({ headers, status }: HttpAnswer, body: Uint8Array): void {
  const digest = strongest(contentDigests(headers, status));
  if (digest === undefined) return;
  const hex = createHash(digest.algorithm).update(body).digest('hex');
  if (hex !== digest.hex) throw new MillraceError('wrong-digest', `${digest.algorithm} is ${hex}`);
}

/**
 * Compares a chunk that is a whole file with the digest that a client has asked for. Chunks of
 * longer files cannot be compared: the client finds out when it has put them together.
 *
 * @throws MillraceError `precondition-failed`: the origin has other content
 */
export async function checkAsked({ version, range }: ChunkRequest, data: Buffer): Promise<void> {
  const { digest, length } = version;
  if (digest === undefined || range.start > 0 || range.end < length) return;
  const found = (await sha256(data)).toString('hex');
  if (found !== digest) throw otherContent(found);
}

/**
 * Compares an origin's statement about the whole file with the digest that a client has asked for.
 *
 * @returns true if the origin says that this is the content; false if it says nothing
 * @throws MillraceError `precondition-failed`: the origin has other content
 */
export function checkDeclared({ headers, status }: HttpAnswer, digest: string): boolean {
  const declared = fileDigests(headers, status).find(({ algorithm }) => algorithm === 'sha256');
  if (declared === undefined) return false;
  if (declared.hex !== digest) throw otherContent(declared.hex);
  return true;
}

function otherContent(hex: string): MillraceError {
  return new MillraceError('precondition-failed', `the origin has ${formatKnownDigest(hex)}`);
}
