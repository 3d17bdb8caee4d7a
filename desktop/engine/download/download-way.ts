/** Things that a download lends to the way on which its bytes come: in blocks, or in one piece. */

import type { Digest } from '@millrace/shared/base/digest';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { Session } from '@millrace/shared/download/transfer/session';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import type { HttpSource } from '../sources/http-source.ts';
import type { First } from '../sources/opening.ts';
import type { SourceSet } from '../sources/source-set.ts';
import type { DownloadReport } from './download-report.ts';
import type { DownloadContext } from './download-types.ts';
import type { TargetFile } from './target-file.ts';

export interface DownloadWay {
  readonly session: Session<HttpSource>;
  readonly request: DownloadRequest;
  readonly context: DownloadContext;
  readonly report: DownloadReport;
  readonly sources: SourceSet;
  /** The answer that has defined the file; its body is still to be read. */
  readonly first: First;
  readonly target: TargetFile;
  /** The target's partial file. */
  readonly file: PartialFile;
  readonly pool: SegmentPool;
}

/** A digest that the whole file should have, and its source. */
export interface SaidDigest {
  readonly by: string;
  readonly digest: Digest;
}
