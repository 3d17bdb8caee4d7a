/** What the daemon needs of a download, and what it gives to one. */

import type { Random } from '@millrace/shared/base/clock';
import type { Digest } from '@millrace/shared/download/digest';
import type { DownloadRequest } from '@millrace/shared/download/request';

/** A rate that several downloads share. */
export interface RateLimit {
  /** @returns undefined to go on, else a promise that resolves when the bytes are paid for */
  take(bytes: number, signal: AbortSignal): Promise<void> | undefined;
}

/** Requests at a time that hosts stand, as learned and remembered. */
export interface HostLimits {
  /** @param host URL.host */
  limit(host: string): number;
  /** 429, 403 or 503 came. */
  onRefused(host: string, active: number, retryAfterMs?: number): void;
  onServed(host: string, active: number): void;
}

export interface RunContext {
  /** Aborting keeps the partial file. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  readonly random: Random;
  readonly rateLimits?: readonly RateLimit[];
  readonly hostLimits?: HostLimits;
}

export type RunState =
  | 'starting'
  | 'running'
  | 'waiting-for-network'
  | 'waiting-for-room'
  | 'checking';

export type RunEvent =
  | { readonly kind: 'note'; readonly text: string }
  | {
      readonly kind: 'start';
      readonly path: string;
      readonly length?: number | undefined;
      readonly resumedBytes: number;
      readonly via: string;
    }
  | { readonly kind: 'check'; readonly what: 'partial file' | 'checksum' }
  | { readonly kind: 'state'; readonly state: RunState };

export interface SourceStatus {
  readonly label: string;
  readonly url: string;
  readonly kind: 'edge' | 'origin' | 'mirror';
  readonly state: 'trying' | 'used' | 'resting' | 'quarantined';
  readonly reason?: string | undefined;
  readonly bytesPerSecond: number;
  readonly receivedBytes: number;
  readonly connections: number;
}

export interface RunProgress {
  readonly state: RunState;
  readonly path?: string | undefined;
  readonly length?: number | undefined;
  readonly storedBytes: number;
  readonly receivedBytes: number;
  readonly bytesPerSecond: number;
  readonly etaMs?: number | undefined;
  readonly sources: readonly SourceStatus[];
  strip(cells: number): number[];
}

export interface RunResult {
  readonly path: string;
  readonly bytes: number;
  readonly receivedBytes: number;
  readonly resumedBytes: number;
  readonly digest?: Digest | undefined;
}

/** One download, as it runs. */
export interface Run {
  /** @throws MillraceError; `interrupted` when the signal aborts */
  run(): Promise<RunResult>;
  progress(): RunProgress;
  setLimit(bytesPerSecond: number | undefined): void;
  addUrl(url: string): void;
  prefer(position: number | undefined): void;
  read(into: Buffer, position: number, signal: AbortSignal): Promise<number>;
  readonly described: Promise<{
    readonly path: string;
    readonly length: number | undefined;
    readonly contentType: string | undefined;
  }>;
}

export interface DownloadFactory {
  (request: DownloadRequest, context: RunContext): Run;
  /** Deletes the partial file, and what is beside it, of a download that does not run. */
  removePartial(path: string): Promise<void>;
}
