/** The interface between the daemon and a download: what each requires of the other. */

import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type {
  Described,
  DownloadContext,
  DownloadEvent,
  DownloadProgress,
  DownloadResult,
} from '../download/download-types.ts';
import type { DownloadRecord } from '../store/record.ts';

export type { RateLimit } from '../download/rate-limit.ts';
export type { HostLimits } from '../sources/source-set.ts';
export type RunContext = DownloadContext;
export type RunEvent = DownloadEvent;
export type RunProgress = DownloadProgress;
export type RunResult = DownloadResult;

/** Leftovers of a run that was stopped. */
export interface Left {
  /** Path of the file or partial file; undefined if none is known. */
  readonly path: string | undefined;
  /** Set if the download completed before the stop. */
  readonly complete: RunResult | undefined;
}

/** One run of a download. */
export interface Run {
  /** @throws MillraceError; `interrupted` when the signal aborts */
  run(): Promise<RunResult>;
  progress(): RunProgress;
  /**
   * Releases the complete file; does nothing if the file is not complete.
   *
   * @param written whether the completion is recorded. If not, the next run finds the file complete
   */
  settle(written: boolean): Promise<void>;
  setLimit(bytesPerSecond: number | undefined): void;
  addUrl(url: string): void;
  prefer(position: number | undefined): void;
  read(into: Buffer, position: number, signal: AbortSignal): Promise<number>;
  readonly described: Promise<Described>;
}

/** Result of the checks of a complete file that need other downloads, before its completion is recorded. */
export interface Verdict {
  /** False if the file has to be fetched again in part, or has failed. */
  readonly isComplete: boolean;
  /**
   * Records the result. If the file is not complete, this ends the run in place of a completion; otherwise
   * it is called directly after the completion is recorded.
   *
   * @param record as it is, or would be, once the download is complete
   */
  record(record: DownloadRecord): void;
}

/** A verdict, and the right to give the next one. */
export interface Judged {
  /** Undefined: nothing needs other downloads, or the daemon could not find out. */
  readonly verdict: Verdict | undefined;
  /** Lets the next file be judged. To be called once the verdict is recorded. */
  release(): void;
}

export interface DownloadFactory {
  (request: DownloadRequest, context: RunContext): Run | Promise<Run>;
  /**
   * Deletes the partial file, with its journal, of a download that does not run.
   *
   * @param onlyOf URLs: the partial file of any other URL stays
   */
  removePartial(path: string, onlyOf?: readonly string[]): Promise<void>;
  /**
   * Deletes the journal that a crash left beside a complete file.
   *
   * @param onlyOf URLs: the journal of any other URL stays
   */
  removeJournal(path: string, onlyOf: readonly string[]): Promise<void>;
  /**
   * Moves the partial file, with its journal, to another path.
   *
   * @param onlyOf URLs: the partial file of any other URL stays
   * @returns bytes on disk of the moved files
   * @throws MillraceError `file-exists` if there is a file at the other path; other file errors
   */
  movePartial(path: string, to: string, onlyOf?: readonly string[]): Promise<number>;
}
