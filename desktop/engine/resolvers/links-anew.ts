/** Finds the links of a download anew, after they have expired, and shows that they lead to its file. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import {
  answeredAnew,
  contradiction,
  type Resolved,
} from '@millrace/shared/download/resolve/resolved';
import type { LinkProof } from '../sources/link-proof.ts';
import type { Resolvers } from './resolvers.ts';

/** A download whose links have expired. */
export interface Expired {
  readonly request: DownloadRequest;
  readonly resolved: Resolved;
  /** Bytes of the file, if they are known. */
  readonly length: number | undefined;
  /** Path below the folder of the request by which the partial file is found; undefined: there is none. */
  readonly file: string | undefined;
}

/**
 * Asks the resolver of a download again.
 *
 * @param prove compares the file that a request leads to with the stored bytes, as `proveLink`
 * @throws MillraceError as `Resolvers.ask`; `resolver-refused` if it has nothing to say any more;
 *   `different-file`; as `prove`
 */
export async function linksAnew(
  resolvers: Pick<Resolvers, 'ask'>,
  { request, resolved, length, file }: Expired,
  prove: (next: DownloadRequest) => Promise<LinkProof>,
  signal: AbortSignal,
): Promise<{ readonly request: DownloadRequest; readonly resolved: Resolved }> {
  const { by, url } = resolved;
  const found = await resolvers.ask({ url, resolver: by, anew: true }, signal);
  if (found === undefined) {
    throw new MillraceError('resolver-refused', {
      code: 'at',
      values: { place: by, why: { code: 'resolver-silent-now' } },
    });
  }
  const { answer } = found;
  const why = contradiction({ length, digests: request.digests }, answer);
  if (why !== undefined) throw new MillraceError('different-file', `${by}: ${why}`);
  // Members that the answer leaves out go: they belonged to the earlier links.
  const { urls, listed, headers, login, digests = [] } = answeredAnew(request, resolved, answer);
  const next: DownloadRequest = {
    ...{ ...request, urls, listed, headers, login, digests },
    file: file ?? request.file,
  };
  const proof = await prove(next);
  const isAlike = proof.length !== undefined && proof.length === length;
  if (proof.found === 'not-compared' && !isAlike && digests.length === 0) {
    throw new MillraceError('different-file', { code: 'no-parts-to-compare' });
  }
  signal.throwIfAborted();
  const { stale: _, expires: __, ...kept } = resolved;
  const { expires } = answer;
  const ends = expires === undefined ? {} : { expires };
  return { request: next, resolved: { ...kept, urls: answer.urls, ...ends } };
}
