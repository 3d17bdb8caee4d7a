/** One download in detail: its map of blocks, sources, speed, log and digests. */

import type { NoteValues } from '../../base/notes.ts';

export const MAX_CELLS = 2048;

/** The file cut into equal parts ("cells"). Both lists have one entry per cell. */
export interface BlockMap {
  /** Bytes; undefined while it is not known: then the lists are empty. */
  readonly length?: number | undefined;
  /** How much of the cell is stored, 0 to 100. */
  readonly stored: readonly number[];
  /**
   * Who brought most of what is stored: an index into `sources` of the same detail; -1: nothing is
   * stored, or an earlier run brought it.
   */
  readonly by: readonly number[];
  /** Indices of cells in which bytes are arriving now. */
  readonly arriving: readonly number[];
}

export type SourceState = 'trying' | 'used' | 'resting' | 'quarantined';

/** A source, as the engine has it. */
export interface SourceStatus {
  /** What people see: the edge's address, or the host. */
  readonly label: string;
  /** URL of the file at the origin or mirror. */
  readonly url: string;
  readonly kind: 'edge' | 'origin' | 'mirror';
  readonly state: SourceState;
  /** Why it rests or is not used any more, in English. */
  readonly reason?: string | undefined;
  /** The same as a code of the table of errors, for translations. */
  readonly reasonCode?: string | undefined;
  /** Shortest time that an answer took, milliseconds. */
  readonly rttMs?: number | undefined;
  readonly bytesPerSecond: number;
  readonly receivedBytes: number;
  /** Requests under way. */
  readonly connections: number;
  /** Connections that broke after bytes had come; the download went on. */
  readonly resets: number;
}

export interface SourceView extends SourceStatus {
  /** Its part of the bytes that all sources of this run have brought, 0 to 1. */
  readonly share: number;
}

/** Bytes per second, one sample per second, oldest first; at most ten minutes. */
export interface SpeedHistory {
  /** When the last sample was taken, Unix milliseconds; 0 if there is none. */
  readonly endsAt: number;
  readonly stepMs: number;
  readonly bytesPerSecond: readonly number[];
}

export const LOG_EVENTS = [
  'added',
  'started',
  'phase',
  'paused',
  'resumed',
  'retry',
  'failed',
  'complete',
  'removed',
  'restored',
  'note',
] as const;

export type LogEvent = (typeof LOG_EVENTS)[number];

export interface LogEntry {
  /** Rises by one with each entry of a download. */
  readonly seq: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly event: LogEvent;
  /** note: what the engine says, in English; phase: which; started: from whom. */
  readonly text?: string | undefined;
  /** note: its code in the table of notes, and what is filled in. */
  readonly note?: string | undefined;
  readonly values?: NoteValues | undefined;
  /** failed, retry: a code of the table of errors. */
  readonly code?: string | undefined;
  /** retry: when it is tried again, Unix milliseconds. */
  readonly retryAt?: number | undefined;
}

export interface DigestView {
  readonly algorithm: string;
  readonly hex: string;
  /** Who says so: `user`, or the label or URL of a source. */
  readonly by: string;
  /** verified: the file has it. mismatch: the file that was there did not. */
  readonly state: 'expected' | 'verified' | 'mismatch';
}

export interface DownloadDetail {
  readonly gid: string;
  /** False: as it was when the last run ended, as far as that is still known. */
  readonly running: boolean;
  readonly map: BlockMap;
  readonly sources: readonly SourceView[];
  readonly speed: SpeedHistory;
  /** At most the last 200 entries. */
  readonly log: readonly LogEntry[];
  readonly digests: readonly DigestView[];
  /** Pieces with a digest each, 0 for none. */
  readonly pieces: number;
  /** Request fields; values of cookies and credentials are shown as "…". */
  readonly headers: Readonly<Record<string, string>>;
  readonly proxy?: string | undefined;
  readonly edges: readonly string[];
}
