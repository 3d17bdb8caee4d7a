/** What the daemon shows of its downloads, to the command line and the user interface. */

import type { ScheduleNow } from './settings-api.ts';

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

export interface DaemonInfo {
  readonly version: string;
  readonly pid: number;
  /** State folder. */
  readonly state: string;
  /** Download folder. */
  readonly dir: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** As of `process.platform`. */
  readonly platform: string;
  /** Downloads by what they do; stopped: finished ones of whatever kind. */
  readonly counts: Readonly<Record<'active' | 'queued' | 'waiting' | 'paused' | 'stopped', number>>;
  /** Over all downloads. */
  readonly bytesPerSecond: number;
  /** Global limit, bytes per second. */
  readonly limit?: number | undefined;
  readonly schedule: ScheduleNow;
}

/** null: none. What has to start a running download anew does so. */
export interface ChangeRequest {
  readonly priority?: number;
  /** Bytes per second. */
  readonly limit?: number | null;
  /** Also of finished ones, if nothing else is changed; the folder follows where nothing has begun. */
  readonly category?: string | null;
  /** null: now. */
  readonly startAt?: number | null;
  readonly dir?: string;
  readonly file?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections?: number;
  readonly proxy?: string;
  readonly digests?: readonly { readonly algorithm: string; readonly hex: string }[];
}
