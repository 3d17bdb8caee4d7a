/** Keeps the copies of an exNode that are given away like its owner's: their links stay as they are. */

import { createHash } from 'node:crypto';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { EXNODE_TYPE, type Exnode } from '@millrace/shared/exnode/exnode';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { depotOf } from '@millrace/shared/exnode/layout';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { contentOf, exchange } from '../net/depot-exchange.ts';
import { patiently } from '../net/depot-pace.ts';
import { isGone } from '../upload/reserve.ts';

/** A copy that names the replicas of before. */
export interface StaleCopy {
  readonly depot: string;
  readonly error: MillraceError;
}

/**
 * Replaces the copies of an exNode at its depots by what it is now. Copies that are gone stay away.
 *
 * @returns the copies that are as they were
 * @throws the signal's reason
 */
export async function replaceCopies(exnode: Exnode, signal: AbortSignal): Promise<StaleCopy[]> {
  const text = formatExnode(exnode, true);
  const outcomes = await Promise.all(
    (exnode.documents ?? []).map(async (copy): Promise<StaleCopy[]> => {
      const { write } = copy;
      if (write === undefined) return [];
      try {
        await patiently(() => replaceCopy(write, text, signal), signal);
        return [];
      } catch (thrown) {
        signal.throwIfAborted();
        const error = asMillraceError(thrown);
        return isGone(error) ? [] : [{ depot: depotOf(copy), error }];
      }
    }),
  );
  return outcomes.flat();
}

/** Replaces a copy unless it is the same already. */
async function replaceCopy(write: string, text: string, signal: AbortSignal): Promise<void> {
  const { headers } = await exchange({ method: 'HEAD', url: write, signal });
  const stored = fileDigests({ 'repr-digest': headers['repr-digest'] }, 200);
  const sha256 = createHash('sha256').update(text).digest('hex');
  if (stored.some(({ algorithm, hex }) => algorithm === 'sha256' && hex === sha256)) return;
  const { etag } = headers;
  if (etag === undefined) {
    throw new MillraceError('malformed-response', 'that depot replaces no exNode');
  }
  await exchange({
    ...{ method: 'PUT', url: write, signal },
    headers: { 'content-type': EXNODE_TYPE, 'if-match': etag },
    content: contentOf(text),
  });
}
