/** The daemon's requirements of a download, and the things that it gives to one. */

import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type {
  Described,
  DownloadContext,
  DownloadEvent,
  DownloadProgress,
  DownloadResult,
} from '../download/download-types.ts';

export type { RateLimit } from '../download/rate-limit.ts';
export type { HostLimits } from '../sources/source-set.ts';
export type RunContext = DownloadContext;
export type RunEvent = DownloadEvent;
export type RunProgress = DownloadProgress;
export type RunResult = DownloadResult;

/** Leftovers of a run that was stopped. */
export interface Left {
  /** Of its file or partial file; undefined: none is known. */
  readonly path: string | undefined;
  /** It was complete before it could be stopped. */
  readonly complete: RunResult | undefined;
}

/** One download, as it runs. */
export interface Run {
  /** @throws MillraceError; `interrupted` when the signal aborts */
  run(): Promise<RunResult>;
  progress(): RunProgress;
  /**
   * Lets go of the complete file; nothing where there is none.
   *
   * @param written the completion is recorded. Otherwise another run of it finds the file complete
   */
  settle(written: boolean): Promise<void>;
  setLimit(bytesPerSecond: number | undefined): void;
  addUrl(url: string): void;
  prefer(position: number | undefined): void;
  read(into: Buffer, position: number, signal: AbortSignal): Promise<number>;
  readonly described: Promise<Described>;
}

export interface DownloadFactory {
  (request: DownloadRequest, context: RunContext): Run | Promise<Run>;
  /**
   * Deletes the partial file, with its journal, of a download that does not run.
   *
   * @param onlyOf URLs: a partial file of any other stays
   */
  removePartial(path: string, onlyOf?: readonly string[]): Promise<void>;
  /**
   * Deletes the journal that a crash has left beside a complete file.
   *
   * @param onlyOf URLs: a journal of any other stays
   */
  removeJournal(path: string, onlyOf: readonly string[]): Promise<void>;
  /**
   * Moves the partial file, with its journal, to another path.
   *
   * @param onlyOf URLs: a partial file of any other stays
   * @returns bytes on disk of the moved files
   * @throws MillraceError `file-exists` if there is one at the other path, and others of files
   */
  movePartial(path: string, to: string, onlyOf?: readonly string[]): Promise<number>;
}
