/** A stored download: its request, state and result. */

import type { Digest } from '@millrace/shared/base/digest';
import type { Particulars } from '@millrace/shared/base/error-table/particulars';
import type { AfterChoice, AfterStep } from '@millrace/shared/download/after/after';
import type { Follow, FollowByKind, Following } from '@millrace/shared/download/after/follow';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { Resolved } from '@millrace/shared/download/resolve/resolved';
import type { Vouch } from '@millrace/shared/download/signatures/verdict';

export const UNFINISHED = ['queued', 'active', 'waiting', 'paused'] as const;
export const FINISHED = ['complete', 'error', 'removed'] as const;
export type UnfinishedState = (typeof UNFINISHED)[number];
export type FinishedState = (typeof FINISHED)[number];
export type RecordState = UnfinishedState | FinishedState;

export interface StoredError {
  readonly code: string;
  readonly message: string;
  readonly detail: string;
  /** The detail as data, for other languages than English. */
  readonly particulars?: Particulars | undefined;
  /** True if the source sends the file in one piece: the next run starts from the beginning. */
  readonly onePiece?: boolean | undefined;
}

export interface DownloadRecord {
  /** 16 hexadecimal digits, the form that aria2 uses. */
  readonly gid: string;
  readonly state: RecordState;
  readonly request: DownloadRequest;
  /** Options of the daemon, which are not part of the request. */
  readonly options: RecordOptions;
  readonly priority: number;
  readonly rank: number;
  readonly category: string | undefined;
  /** Host and port of the first URL. */
  readonly host: string;
  /** File name, as far as it is known. */
  readonly name: string;
  readonly path: string | undefined;
  readonly length: number | undefined;
  readonly storedBytes: number;
  /** Bytes received over the network, in all runs. */
  readonly receivedBytes: number;
  /** Unix milliseconds, like all other times here. */
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  /** Set for finished downloads only. */
  readonly finishedAt: number | undefined;
  /** Milliseconds of running, in all runs that have ended; default 0. */
  readonly activeMs?: number | undefined;
  readonly attempts: number;
  readonly retryAt: number | undefined;
  readonly error: StoredError | undefined;
  /** Digest that the whole file was shown to have. */
  readonly digest: Digest | undefined;
  /** The signer that vouches for the whole file, once it is complete. */
  readonly vouch?: Vouch | undefined;
  /** Actions after the download and how far they are; set once it is complete. */
  readonly after?: readonly AfterStep[] | undefined;
}

export interface RecordOptions {
  /** Take another name (name.1.ext) if the name is taken. */
  readonly rename: boolean;
  /** The user chose the name, so another download's file of that name does not change it. */
  readonly named?: boolean | undefined;
  /** Attempts before the download counts as failed; 0 for no limit. */
  readonly maxTries: number;
  /** Unix milliseconds before which the download does not run. */
  readonly startAt?: number | undefined;
  /** aria2's options as the client gave them, to return them on request. */
  readonly aria2?: Readonly<Record<string, string>> | undefined;
  /** UUID of the hand-off by which a browser gave us the download. */
  readonly handOff?: string | undefined;
  /** Time at which a new link last took the place of an old one. */
  readonly renewedAt?: number | undefined;
  /** Folder to use if the reserved file name is lost. */
  readonly elsewhere?: string | undefined;
  /** How a resolver has found the links. */
  readonly resolved?: Resolved | undefined;
  /** Pieces of a torrent that the file has in common with others. */
  readonly shared?: readonly SharedPiece[] | undefined;
  /** Folder of those files when they were added, as they may be moved apart later. */
  readonly sharedIn?: string | undefined;
  /** Keys of shared pieces that were wrong, once for each time that their bytes were fetched again. */
  readonly sharedAgain?: readonly string[] | undefined;
  /** Keys of shared pieces that are known to be right, or cannot be checked. */
  readonly sharedSaid?: readonly string[] | undefined;
  /** Keys of those among them that are right. */
  readonly sharedRight?: readonly string[] | undefined;
  /** Whether a description is followed to its files; default: true. */
  readonly follow?: Follow | FollowByKind | undefined;
  /** The user has named the file, or says which bytes it has: its type does not make it a description. */
  readonly known?: boolean | undefined;
  /** How far that is; set once the download is complete and turns out to be a description. */
  readonly follows?: Following | undefined;
  /** The description that has led to this download, by its gid. */
  readonly following?: string | undefined;
  /** Actions that the user has chosen for this download; undefined: those of the settings. */
  readonly after?: AfterChoice | undefined;
}

export function isFinished(state: RecordState): state is FinishedState {
  return (FINISHED as readonly string[]).includes(state);
}
