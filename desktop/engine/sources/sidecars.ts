/** Looks for digests and signatures beside a file, over the connections of its download. */

import type { Random } from '@millrace/shared/base/clock';
import type { ErrorCode } from '@millrace/shared/base/errors';
import type { Note } from '@millrace/shared/base/notes';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { asksFor } from '@millrace/shared/download/signatures/own-key';
import { signerOf } from '@millrace/shared/download/signatures/signers';
import type { OwnKeys } from '../signatures/own-keys.ts';
import type { Vouching } from '../signatures/vouching.ts';
import type { Connections } from './connections.ts';
import type { DownloadSource } from './download-source.ts';

export interface SidecarOptions {
  readonly request: DownloadRequest;
  readonly connections: Connections;
  /** Source that defined the file: its URL is the one to look beside. */
  readonly source: DownloadSource;
  /** Name that the file gets. */
  readonly name: string;
  readonly random: Random;
  readonly ownKeys?: OwnKeys | undefined;
  readonly signal: AbortSignal;
  readonly onNote: (note: Note) => void;
}

/** Errors of signatures, and of the user's keys, that end a download. */
export const ENDING: ReadonlySet<ErrorCode> = new Set(['bad-signature', 'bad-option']);
/** Longest time that one file may take, ms: the end of a download waits for all of them. */
const LOOK_MS = 30_000;

/**
 * Returns the means to find out who vouches for a file; undefined if the user has not asked for it
 * and the file belongs to no known signer, as is so for most.
 */
export async function vouchingFor({
  request,
  connections,
  source,
  name,
  random,
  ownKeys,
  signal,
  onNote,
}: SidecarOptions): Promise<Vouching | undefined> {
  const { url } = source;
  const { sidecars, keys = [], signatures = [] } = request;
  const own = (await ownKeys?.(url)) ?? [];
  const isAsked = sidecars || keys.length > 0 || signatures.length > 0 || asksFor(own);
  // A user who wants only edges does not want the origin asked for what was not asked for.
  if (!isAsked && (!request.direct || signerOf(url) === undefined)) return undefined;
  const { Vouching: Loaded } = await import('../signatures/vouching.ts');
  const { readSmallFile } = await import('./small-file.ts');
  return new Loaded({
    request,
    ownKeys: own,
    url,
    name,
    read: async (small, maxBytes) => {
      const from = connections.source('mirror', small, random);
      return (await readSmallFile(from, maxBytes, signal, LOOK_MS)).body;
    },
    now: Date.now,
    onNote,
  });
}
