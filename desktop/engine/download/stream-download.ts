/** Downloads a file in one piece, because its ranges cannot be shown to belong to one version. */

import type { Digest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { FileCheck } from '../hash/file-check.ts';
import type { DownloadWay } from './download-way.ts';
import { SingleStream } from './single-stream.ts';

/**
 * Fetches the file to its end and checks it.
 *
 * @returns its length in bytes, and the digest that it was checked against, if any
 * @throws MillraceError; the signal's reason
 */
export async function streamDownload(
  way: DownloadWay,
): Promise<{ readonly length: number; readonly digest: Digest | undefined }> {
  const { report, sources, first, file, pool, session } = way;
  report.setState('running');
  const stream = new SingleStream({
    file,
    source: first.source,
    sources,
    pool,
    session,
  });
  const length = await stream.run(first.opened);
  return { length, digest: await checkWhole(way, length) };
}

/**
 * Checks digest and pieces: a bad piece of a file that came in one piece cannot be fetched again.
 */
async function checkWhole(
  { request, context, first, target, said }: DownloadWay,
  length: number,
): Promise<Digest | undefined> {
  const { digests, pieces } = request;
  const { source, opened } = first;
  const check = new FileCheck([
    { by: 'the user', digests, pieces: pieces === undefined ? [] : [pieces] },
    ...said.map(({ by, digest }) => ({ by, digests: [digest] })),
    {
      by: source.label,
      digests: fileDigests(opened.headers, opened.kind === 'whole' ? 200 : 206),
    },
  ]);
  const digest = await target.check(check, length);
  if (!check.needed) return digest;
  const bad = await check.badPieces(target.hasher, length, context.signal);
  if (bad.length === 0) return digest;
  await target.discard();
  throw new MillraceError('checksum-mismatch', `${bad.length} pieces have another digest`);
}
