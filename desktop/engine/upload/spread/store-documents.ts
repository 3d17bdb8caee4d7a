/** Stores the exNode of an upload at the depots that take one. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, isOfSource, type MillraceError } from '@millrace/shared/base/errors';
import { EXNODE_TYPE, type Exnode, type ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { patiently } from '../../net/depot-pace.ts';
import { storeText } from '../store-text.ts';

export interface DocumentsOptions {
  /** Base URLs of depots, and their tokens. */
  readonly depots: readonly { readonly edge: string; readonly token: string }[];
  /** Time from now for which the exNode is stored. */
  readonly forMs: Millis;
  readonly signal: AbortSignal;
  /** `left` is called when a depot does not take the exNode. */
  readonly observe: { left(edge: string, error: MillraceError): void };
}

/** Returns true for errors of a depot, which other depots may not have. */
export function leavesDepot(error: unknown): error is MillraceError {
  if (!isMillraceError(error)) return false;
  return isOfSource(error.row) || error.code === 'owner-token-required';
}

/** Stores the copy of the exNode to give away at each depot that takes one. */
export async function storeDocuments(
  exnode: Exnode,
  { depots, forMs, signal, observe }: DocumentsOptions,
): Promise<ExnodeReplica[]> {
  const text = formatExnode(exnode, true);
  const name = `${exnode.name}.exnode`;
  let failure: unknown;
  const stored = await Promise.all(
    depots.map(async ({ edge, token }) => {
      const document = { name, type: EXNODE_TYPE, text };
      const store = () => storeText({ edge, token, ...document, forMs, signal });
      try {
        const { read, write, manage, expires } = await patiently(store, signal);
        return { read, at: 0, expires: Date.parse(expires), write, manage };
      } catch (error) {
        if (signal.aborted || !leavesDepot(error)) throw error;
        failure = error;
        observe.left(edge, error);
        return undefined;
      }
    }),
  );
  const documents = stored.filter((one) => one !== undefined);
  // The file is stored, and the owner's exNode names it: one link is enough.
  if (documents.length === 0) throw failure;
  return documents;
}
