/** What a download lends to the way on which its bytes come: in blocks, or in one piece. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Digest } from '@millrace/shared/base/digest';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import type { HttpSource } from '../sources/http-source.ts';
import type { First } from '../sources/opening.ts';
import type { SourceSet } from '../sources/source-set.ts';
import type { DownloadReport } from './download-report.ts';
import type { DownloadContext } from './download-types.ts';
import type { TargetFile } from './target-file.ts';

export interface DownloadWay {
  readonly request: DownloadRequest;
  readonly context: DownloadContext;
  readonly report: DownloadReport;
  readonly sources: SourceSet;
  /** The answer that has said what the file is; its body is still to be read. */
  readonly first: First;
  readonly target: TargetFile;
  /** The target's partial file. */
  readonly file: PartialFile;
  readonly pool: SegmentPool;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Counts bytes as they come in; a promise holds the source back (rate limit). */
  /**
   * @param signal of the request that brought them: its end ends the wait, too
   * @returns what to wait for before more is read; undefined: nothing
   */
  readonly onBytes: (
    source: HttpSource,
    count: number,
    signal?: AbortSignal,
  ) => Promise<void> | undefined;
  /** Told when there is no source to ask, and again when there is. */
  readonly onWaiting: (waiting: boolean) => void;
  /** Resolves when the network has changed (true), or at the deadline or with the signal (false). */
  readonly networkChange: (deadlineMs: Millis, signal: AbortSignal) => Promise<boolean>;
}

/** A digest that the whole file should have, and who says so. */
export interface SaidDigest {
  readonly by: string;
  readonly digest: Digest;
}
