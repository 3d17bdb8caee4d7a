/** Inputs, events and results of a download. */

import type { Millis, Random } from '@millrace/shared/base/clock';
import type { Digest } from '@millrace/shared/base/digest';
import type { Note } from '@millrace/shared/base/notes';
import type { SourceStatus } from '@millrace/shared/bridge/rpc/detail-api';
import type { HostLimits } from '../sources/source-set.ts';
import type { RateLimit } from './rate-limit.ts';

/** Things that a download shares with others of the process. */
export interface DownloadContext {
  /** Interrupts: the partial file stays, and a new download of the same request resumes it. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: DownloadEvent) => void;
  readonly random: Random;
  readonly rateLimits?: readonly RateLimit[];
  readonly hostLimits?: HostLimits;
  /**
   * Longest wait with no request under way before the download fails, so that others can have its
   * slot; where no server answers at all, it fails at once. Undefined: as long as `retryForMs`.
   */
  readonly yieldsAfterMs?: Millis | undefined;
  /**
   * True: `settle` is called once it is written down that the download is complete. A run of it before
   * that finds the file complete, also where the process was killed in between.
   */
  readonly settles?: boolean;
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
      /** Undefined where the source does not say. */
      readonly length: number | undefined;
      /** Bytes that an earlier run has brought. */
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
  /** The digest that the file was checked against, where there was one. */
  readonly digest?: Digest | undefined;
}

/** Where a download stands. */
export interface DownloadProgress {
  readonly state: DownloadState;
  readonly path?: string | undefined;
  readonly length?: number | undefined;
  readonly storedBytes: number;
  readonly receivedBytes: number;
  readonly bytesPerSecond: number;
  /** Undefined where it cannot be said. */
  readonly etaMs?: Millis | undefined;
  readonly sources: readonly SourceStatus[];
  /** Digests of the whole file that any source has stated. */
  readonly digests: readonly { readonly by: string; readonly digest: Digest }[];
  /** Share of each of `cells` equal parts of the file that is there, 0 to 1. */
  strip(cells: number): number[];
  /**
   * For each of `cells` equal parts: the index in `sources` of the one that brought most of it; -1:
   * none.
   */
  brought(cells: number): number[];
}

/** Facts about a file before its bytes are there. */
export interface Described {
  readonly path: string;
  readonly length: number | undefined;
  readonly contentType: string | undefined;
}
