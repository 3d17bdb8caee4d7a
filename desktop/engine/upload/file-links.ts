/** Links to a stored file, for the people that it is for. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import type { Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { linkWith } from '@millrace/shared/exnode/seal';
import { fileLinkOf } from '@millrace/shared/http/urls/depot-link';
import { exchange } from '../net/depot-exchange.ts';

/** Longest wait for an edge to say whether it can put the file together. */
const ASK_MS: Millis = 15_000;

export interface FileLinks {
  /**
   * The links to give away, with the key or the root of the exNode. Any program gets the file from
   * those to the file itself; from those to the exNode only Millrace does.
   */
  readonly links: readonly string[];
  /** Links to the file itself, without key and root; none where no edge puts it together. */
  readonly files: readonly string[];
}

/**
 * Makes the links to a file: at each depot with a copy of the exNode a link to the file itself, if the
 * edge there can put it together, and otherwise one to the exNode. Edges of different networks cannot
 * read each other's depots, nor can those of earlier versions.
 *
 * @param documents copies of the exNode
 * @throws the signal's reason
 */
export async function fileLinks(
  exnode: Exnode,
  documents: readonly ExnodeReplica[],
  signal: AbortSignal,
): Promise<FileLinks> {
  const asked = await Promise.all(
    documents.map(async ({ read }) => {
      const file = fileLinkOf(read, exnode.name);
      return file !== undefined && (await puts(file, signal)) ? { read, file } : { read };
    }),
  );
  return {
    links: asked.map(({ read, file = read }) => linkWith(file, exnode)),
    files: asked.flatMap(({ file }) => file ?? []),
  };
}

async function puts(link: string, signal: AbortSignal): Promise<boolean> {
  const either = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
  try {
    await exchange({ method: 'HEAD', url: link, signal: either });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (isMillraceError(error)) return false;
    throw error;
  }
}
