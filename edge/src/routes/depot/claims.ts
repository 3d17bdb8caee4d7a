/**
 * Claims of guests. Several people may have a link for guests; a space of it belongs to the first one
 * who sends bytes. Otherwise two would append to each other's file.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { CLAIM_FIELD, isClaim } from '@millrace/shared/http/urls/guest-link';
import type { Allocation } from '../../depot/allocation.ts';
import { isProved, proofOf } from '../../policy/proofs.ts';
import type { DepotRequest } from './depot-request.ts';
import { readName } from './requests.ts';

/**
 * Checks that a request for the upload of a guest comes from the guest who has claimed it. The first
 * append claims it, and may name the file.
 *
 * @throws MillraceError `upload-running` if it is somebody else's; `bad-request` without a claim
 */
export async function checkClaim(
  { req, options: { depot } }: Pick<DepotRequest, 'req' | 'options'>,
  allocation: Allocation,
): Promise<void> {
  if (allocation.head.guest !== true) return;
  const { method, headers } = req;
  if (method === 'POST') throw new MillraceError('bad-request', 'guests send bytes themselves');
  if (method === 'HEAD' && allocation.claim === undefined) return;
  const given = headers[CLAIM_FIELD];
  const text = typeof given === 'string' ? given : undefined;
  if (method === 'PATCH' && !isClaim(text)) {
    throw new MillraceError('bad-request', `${CLAIM_FIELD} is needed: a secret of your own`);
  }
  const proof = proofOf(text ?? '');
  if (allocation.claim === undefined) {
    // At once: another guest's request may come while the disk writes.
    allocation.claim = proof;
    try {
      await depot.contents.noteClaim(allocation, proof, readName(headers).contentDisposition);
    } catch (error) {
      allocation.claim = allocation.head.claim;
      throw error;
    }
  } else if (!isProved(proof, allocation.claim)) {
    throw new MillraceError('upload-running', 'somebody else has begun to use this space');
  }
}
