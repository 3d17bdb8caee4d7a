/** Rules for the answer that defines a file, and what it means for the edges of the download. */

import { MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import { type OriginAnswer, reasonInAnswer } from '@millrace/shared/download/request/edge-use';
import { homeDetail, noteReason } from '@millrace/shared/download/request/home-reason';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import { matchVersion } from '@millrace/shared/http/fields/validators';
import type { Connections } from '../sources/connections.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import { type First, isPinnable } from '../sources/opening.ts';
import { isPage, type Opened, type WholeAnswer } from '../sources/source-answer.ts';
import type { DownloadReport } from './download-report.ts';
import type { UnsizedVersion } from './target-file.ts';

/**
 * Excludes edges from files that the origin does not give to everybody, and from files in the
 * user's own network.
 */
export async function keepHome(
  answer: OriginAnswer,
  sources: readonly DownloadSource[],
  connections: Connections,
  report: DownloadReport,
): Promise<void> {
  const inAnswer = reasonInAnswer(answer);
  const why = homeDetail(inAnswer ?? 'own-network');
  for (const { edge, health } of sources) {
    if (edge === undefined) continue;
    if (inAnswer === undefined && (await connections.mayTell(edge))) continue;
    health.quarantineFor(new MillraceError('source-refused', why));
    if (!(await connections.isOwnEdge(edge)))
      report.noteOnce(noteOf('edges-not-asked', noteReason(why)));
  }
}

/**
 * Rejects a web page that comes instead of a file seen before, or after answers that could not be
 * used: it is a log-in or an error page, whatever its status.
 *
 * @param expectsFile true if a page cannot be what the user wants
 * @returns true if the answer shows that there is a file
 * @throws MillraceError `origin-denied`
 */
export function checkIsFile({ opened }: First, expectsFile: boolean): boolean {
  const page = isPage(opened);
  const pinnable = isPinnable(opened);
  if (expectsFile && page && !pinnable) {
    opened.discard();
    throw new MillraceError('origin-denied', { code: 'page-instead' });
  }
  return !page && pinnable;
}

/**
 * Checks a whole answer against the length that partial answers stated for the same version: a
 * shorter one has been cut off, however complete it looks.
 *
 * @param length of the answer, in bytes; undefined: not known yet
 * @param stated versions that partial answers stated
 * @throws MillraceError `wrong-length`
 */
export function holdToLength(
  { validators, isDecoded }: WholeAnswer,
  length: number | undefined,
  stated: readonly PinnedVersion[],
): void {
  if (length === undefined || isDecoded) return;
  const same = stated.filter(
    (version) => matchVersion(version.validators, validators) !== 'different',
  );
  if (same.length === 0 || same.some((version) => version.length === length)) return;
  throw new MillraceError('wrong-length', {
    code: 'length-instead',
    values: { hasBytes: length, wantedBytes: same[0]?.length ?? 0 },
  });
}

/** Describes a file whose ranges cannot be told apart from those of other versions. */
export function unpinned(opened: Opened): UnsizedVersion {
  if (opened.kind === 'whole') return { length: undefined, validators: {}, digests: [] };
  const { length, validators } = opened.version;
  return { length, validators, digests: [] };
}
