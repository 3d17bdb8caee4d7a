/** Requests of `get` whose links a resolver finds, and finds anew when they expire. */

import { relative } from 'node:path';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { answered, onExpired, type Resolved } from '@millrace/shared/download/resolve/resolved';
import type { DownloadProgress } from '../../engine/download/download-types.ts';
import { linksAnew } from '../../engine/resolvers/links-anew.ts';
import { Resolvers } from '../../engine/resolvers/resolvers.ts';
import { proveLink } from '../../engine/sources/link-proof.ts';
import type { CliContext } from '../console/context.ts';

/** A request with the links that were found. */
export interface ResolvedRequest {
  readonly request: DownloadRequest;
  /** Name of the resolver. */
  readonly by: string;
  /** Words of the resolver for the user. */
  readonly note: string | undefined;
  /**
   * Asks the resolver again after a failure, and shows that its answer leads to the same file.
   *
   * @returns undefined if the failure is not that of an expired link, or asking has not helped
   * @throws MillraceError as `linksAnew`
   */
  readonly again: (
    error: MillraceError,
    progress: Pick<DownloadProgress, 'path' | 'length' | 'storedBytes'>,
  ) => Promise<DownloadRequest | undefined>;
}

/**
 * Lets a resolver find the links of a request.
 *
 * @returns undefined if none is for its URL
 * @throws MillraceError as `Resolvers.ask`
 */
export async function resolvedRequest(
  asked: DownloadRequest,
  resolver: string | undefined,
  { state, signal }: Pick<CliContext, 'state' | 'signal'>,
): Promise<ResolvedRequest | undefined> {
  const resolvers = new Resolvers(state);
  const [url = ''] = asked.urls;
  const found = await resolvers.ask({ url, resolver }, signal);
  if (found === undefined) return undefined;
  const { by, answer } = found;
  const { login, digests = [], ...members } = answered(asked, answer);
  const within = asked.file === undefined && answer.name !== undefined ? asked.dir : asked.within;
  let request: DownloadRequest = { ...asked, ...members, login, digests, within };
  let resolved: Resolved = { by, url, urls: answer.urls };
  const again: ResolvedRequest['again'] = async (error, { path, length, storedBytes }) => {
    if (error.row.file !== 'gone') return undefined;
    const next = onExpired(resolved, storedBytes);
    if (!next.again) return undefined;
    const known = length ?? request.length;
    const prove = (changed: DownloadRequest) =>
      proveLink(changed, { path, length: known }, Math.random, signal);
    const file = path === undefined ? undefined : relative(request.dir, path);
    const expired = { request, resolved: next.resolved, length: known, file };
    const anew = await linksAnew(resolvers, expired, prove, signal);
    resolved = anew.resolved;
    // The partial file is found by its name.
    request = path === undefined ? anew.request : { ...anew.request, rename: false };
    return request;
  };
  return { request, by, note: answer.note, again };
}
