/** Bodies whose digest the origin gives are held to it: a damaged one is never cached. */

import { createHash } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import { strongest } from '@millrace/shared/download/digest';
import { contentDigests } from '@millrace/shared/download/digest-fields';
import type { HttpAnswer } from '@millrace/shared/node/http-response';

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
