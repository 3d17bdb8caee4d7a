/** Inputs, events and results of a download. */

import type { Millis, Random } from '@millrace/shared/base/clock';
import type { Digest } from '@millrace/shared/base/digest';
import type { Note } from '@millrace/shared/base/notes';
import type { SourceStatus } from '@millrace/shared/bridge/rpc/detail-api';
import type { Vouch } from '@millrace/shared/download/signatures/verdict';
import type { House } from '../edges/house-edges.ts';
import type { EdgeMemory } from '../edges/nearest-first.ts';
import type { OwnKeys } from '../signatures/own-keys.ts';
import type { HostLimits } from '../sources/source-set.ts';
import type { RateLimit } from './rate-limit.ts';

/** Environment of a download, partly shared with other downloads of the process. */
export interface DownloadContext {
  /**
   * Interrupts the download: the partial file stays, and a new download of the same request resumes
   * it.
   */
  readonly signal: AbortSignal;
  readonly onEvent: (event: DownloadEvent) => void;
  readonly random: Random;
  readonly rateLimits?: readonly RateLimit[];
  readonly hostLimits?: HostLimits;
  /** Edges on the local network, while the user wants them to be used; see `request.house`. */
  readonly house?: House | undefined;
  /** Keys that the user trusts; undefined: only those of the request and those that come with Millrace. */
  readonly ownKeys?: OwnKeys;
  /** Round trips to edges that earlier downloads of the process have measured. */
  readonly edges?: EdgeMemory;
  /**
   * Longest time without a request under way, in milliseconds, before the download fails, so that
   * others can have its slot; if no server answers at all, it fails at once. Undefined: as long as
   * `retryForMs`.
   */
  readonly yieldsAfterMs?: Millis | undefined;
  /**
   * True: the caller calls `settle` once the completion has been recorded. A run that begins before
   * then finds the file complete, even if the process was killed in between.
   */
  readonly settles?: boolean;
  /**
   * True: the file's folder is made if it does not exist, because the user has named it just now. A
   * folder that was named long ago may be on a disk that is not there at the moment.
   */
  readonly makesFolder?: boolean;
}

export type DownloadState =
  | 'starting'
  | 'running'
  | 'waiting-for-network'
  | 'waiting-for-server'
  | 'waiting-for-room'
  | 'checking';

export type DownloadEvent =
  | ({ readonly kind: 'note' } & Note)
  | {
      readonly kind: 'start';
      readonly path: string;
      /** Undefined if the source does not state it. */
      readonly length: number | undefined;
      /** Bytes that an earlier run stored. */
      readonly resumedBytes: number;
      readonly via: string;
    }
  | { readonly kind: 'check'; readonly what: 'partial file' | 'checksum' }
  | { readonly kind: 'state'; readonly state: DownloadState };

export interface DownloadResult {
  readonly path: string;
  readonly bytes: number;
  /** Bytes received over the network in this run. */
  readonly receivedBytes: number;
  readonly resumedBytes: number;
  /** Digest that the file was checked against, if any. */
  readonly digest?: Digest | undefined;
  /** The signer that vouches for the file, if any does. */
  readonly vouch?: Vouch | undefined;
  /** Content-Type of the file, if its source states one. */
  readonly contentType?: string | undefined;
}

/** Progress of a download. */
export interface DownloadProgress {
  readonly state: DownloadState;
  readonly path?: string | undefined;
  readonly length?: number | undefined;
  readonly storedBytes: number;
  readonly receivedBytes: number;
  readonly bytesPerSecond: number;
  /** Undefined if it cannot be estimated. */
  readonly etaMs?: Millis | undefined;
  readonly sources: readonly SourceStatus[];
  /** Digests of the whole file, as stated by any source. */
  readonly digests: readonly { readonly by: string; readonly digest: Digest }[];
  /** Returns the stored share of each of `cells` equal parts of the file, 0 to 1. */
  strip(cells: number): number[];
  /**
   * Returns, for each of `cells` equal parts, the index in `sources` of the source that brought
   * most of it; -1: none.
   */
  brought(cells: number): number[];
}

/** Facts about a file that are known before its bytes are stored. */
export interface Described {
  readonly path: string;
  readonly length: number | undefined;
  readonly contentType: string | undefined;
}
