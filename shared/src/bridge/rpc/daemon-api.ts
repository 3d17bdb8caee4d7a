/** What the daemon shows of its downloads, to the command line and the user interface. */

export const DOWNLOAD_STATUSES = [
  'active',
  'queued',
  'waiting',
  'paused',
  'complete',
  'error',
  'removed',
] as const;

/** queued: its turn has not come; waiting: will be tried again at `retryAt`. */
export type DownloadStatus = (typeof DOWNLOAD_STATUSES)[number];

export interface DownloadFailure {
  /** A code of the table of errors. */
  readonly code: string;
  readonly message: string;
  readonly detail: string;
  readonly advice: string;
  readonly retryable: boolean;
}

export interface DownloadView {
  /** 16 hexadecimal digits. */
  readonly gid: string;
  readonly status: DownloadStatus;
  /** Finer, while active. */
  readonly phase?: string | undefined;
  /** Why it does not run though it could: its turn, its host, the schedule, a failure, its start. */
  readonly held?: 'turn' | 'host' | 'schedule' | 'retry' | 'start' | undefined;
  /** File name as far as it is known. */
  readonly name: string;
  readonly path?: string | undefined;
  readonly dir: string;
  readonly urls: readonly string[];
  /** Bytes, as all sizes. */
  readonly length?: number | undefined;
  readonly storedBytes: number;
  readonly receivedBytes: number;
  readonly bytesPerSecond: number;
  readonly etaMs?: number | undefined;
  readonly connections: number;
  /** Bytes per second. */
  readonly limit?: number | undefined;
  readonly priority: number;
  /** Place in the queue, from 0. */
  readonly position?: number | undefined;
  readonly category?: string | undefined;
  /** Unix milliseconds, as all times. */
  readonly createdAt: number;
  /** It does not run before this time. */
  readonly startAt?: number | undefined;
  readonly startedAt?: number | undefined;
  readonly finishedAt?: number | undefined;
  /** Milliseconds of its runs that have ended, without what it spent waiting or paused. */
  readonly activeMs?: number | undefined;
  readonly attempts: number;
  readonly retryAt?: number | undefined;
  readonly error?: DownloadFailure | undefined;
  /** A new URL would help. */
  readonly expiredLink: boolean;
  /** What the whole file was shown to have. */
  readonly digest?: { readonly algorithm: string; readonly hex: string } | undefined;
}

/** What is said of an error of the table besides code and message. */
export interface FailureData {
  readonly code: string;
  readonly detail: string;
  readonly advice: string;
  readonly retryable: boolean;
  /** Exit status of the command line. */
  readonly exit: number;
}
