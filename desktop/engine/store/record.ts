/** A stored download: its request, its state, its end. */

import type { Digest } from '@millrace/shared/base/digest';
import type { DownloadRequest } from '@millrace/shared/download/request/request';

export const UNFINISHED = ['queued', 'active', 'waiting', 'paused'] as const;
export const FINISHED = ['complete', 'error', 'removed'] as const;
export type UnfinishedState = (typeof UNFINISHED)[number];
export type FinishedState = (typeof FINISHED)[number];
export type RecordState = UnfinishedState | FinishedState;

export interface StoredError {
  readonly code: string;
  readonly message: string;
  readonly detail: string;
}

export interface DownloadRecord {
  /** 16 hexadecimal digits, as aria2 has them. */
  readonly gid: string;
  readonly state: RecordState;
  readonly request: DownloadRequest;
  /** The part of the request that is the daemon's own business. */
  readonly options: RecordOptions;
  readonly priority: number;
  readonly rank: number;
  readonly category: string | undefined;
  /** Host and port of the first URL. */
  readonly host: string;
  /** File name as far as it is known. */
  readonly name: string;
  readonly path: string | undefined;
  readonly length: number | undefined;
  readonly storedBytes: number;
  /** Bytes received over the network, in all runs. */
  readonly receivedBytes: number;
  /** Unix milliseconds, all of them. */
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  /** Set exactly for finished ones. */
  readonly finishedAt: number | undefined;
  /** Milliseconds in which it ran, in all runs that have ended; default 0. */
  readonly activeMs?: number | undefined;
  readonly attempts: number;
  readonly retryAt: number | undefined;
  readonly error: StoredError | undefined;
  /** Digest that the whole file was shown to have. */
  readonly digest: Digest | undefined;
}

export interface RecordOptions {
  /** Takes another name where one is taken: name.1.ext. */
  readonly rename: boolean;
  /** The user has chosen the name: another download's file under it does not change it. */
  readonly named?: boolean | undefined;
  /** Attempts before it counts as failed; 0: no end. */
  readonly maxTries: number;
  /** It does not run before this time. */
  readonly startAt?: number | undefined;
  /** aria2's options as they were given, for clients that ask for them again. */
  readonly aria2?: Readonly<Record<string, string>> | undefined;
  /** UUID of the hand-off by which a browser has given it to us. */
  readonly handOff?: string | undefined;
  /** Folder to go to where the name that is held for the file is lost. */
  readonly elsewhere?: string | undefined;
}

export function isFinished(state: RecordState): state is FinishedState {
  return (FINISHED as readonly string[]).includes(state);
}
