/** Reports of a running download. */

import type { MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOfError } from '@millrace/shared/base/notes';
import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import type { DownloadSource } from '../sources/download-source.ts';
import type { DownloadEvent, DownloadState } from './download-types.ts';

export class DownloadReport {
  readonly #tell: (event: DownloadEvent) => void;
  readonly #now: () => number;
  readonly #rate: RateMeter;
  readonly #notes = new Set<string>();
  #state: DownloadState = 'starting';
  #receivedBytes = 0;

  /** @param now monotonic milliseconds */
  constructor(tell: (event: DownloadEvent) => void, now: () => number) {
    this.#tell = tell;
    this.#now = now;
    this.#rate = new RateMeter(now());
  }

  get state(): DownloadState {
    return this.#state;
  }

  /** Bytes received over the network in this run. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  get bytesPerSecond(): number {
    return this.#rate.bytesPerSecond(this.#now());
  }

  /** Counts received bytes. */
  received(count: number): void {
    this.#receivedBytes += count;
    this.#rate.add(count);
  }

  setState(state: DownloadState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#tell({ kind: 'state', state });
  }

  /** Reports that the whole file is being checked. */
  checking(): void {
    if (this.#state === 'checking') return;
    this.setState('checking');
    this.#tell({ kind: 'check', what: 'checksum' });
  }

  note(note: Note): void {
    this.#tell({ kind: 'note', ...note });
  }

  readonly noteOnce = (note: Note): void => {
    if (this.#notes.has(note.text)) return;
    this.#notes.add(note.text);
    this.note(note);
  };

  /** Reports a source that was given up; temporary failures are not reported. */
  readonly sourceFailed = (source: DownloadSource, error: MillraceError): void => {
    if (source.health.quarantine === undefined) return;
    // This failure is expected: the file is fetched directly.
    if (source.edge !== undefined && error.code === 'private-address') return;
    this.noteOnce(noteOfError('source-left-out', error, { source: source.label }));
  };
}
