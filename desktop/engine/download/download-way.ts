/** Parts of a download that both ways of fetching use: in blocks, or as one stream. */

import type { Digest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { Session } from '@millrace/shared/download/transfer/session';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import type { First } from '../sources/opening.ts';
import type { SourceSet } from '../sources/source-set.ts';
import type { DownloadReport } from './download-report.ts';
import type { DownloadContext } from './download-types.ts';
import type { TargetFile } from './target-file.ts';

export interface DownloadWay {
  readonly session: Session<DownloadSource>;
  readonly request: DownloadRequest;
  readonly context: DownloadContext;
  readonly report: DownloadReport;
  readonly sources: SourceSet;
  /** The answer that defined the file; its body has not been read yet. */
  readonly first: First;
  readonly target: TargetFile;
  /** The target's partial file. */
  readonly file: PartialFile;
  readonly pool: SegmentPool;
  /** Stated digests that the bytes of range answers did not match. */
  readonly said: readonly SaidDigest[];
}

/** A stated digest of the whole file, and the source that stated it. */
export interface SaidDigest {
  readonly by: string;
  readonly digest: Digest;
}

/** Returns the error for a repair without a digest: it could replace a right file by a wrong one. */
export function unprovable(): MillraceError {
  return new MillraceError('bad-option', { code: 'no-digest-to-repair' });
}
