/** Shows the progress of bytes that are stored in depots. */

import type { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import type { CliContext, Report } from '../console/context.ts';
import { MovingLine } from '../text/moving-line.ts';
import { printable } from '../text/printable.ts';
import { plainLine, type Shown } from '../text/progress-line.ts';
import { terminalLine } from '../text/terminal-line.ts';

/** Intervals between updates of the progress. */
const TERMINAL_INTERVAL_MS = 200;
const PLAIN_INTERVAL_MS = 5000;
const JSON_INTERVAL_MS = 1000;

/** Shows progress: a line that is redrawn on a terminal, lines elsewhere, objects for programs. */
export class StoreProgress {
  readonly #report: Report;
  readonly #name: string;
  readonly #quiet: boolean;
  readonly #line: MovingLine;
  readonly #startedAt = performance.now();
  readonly #rate = new RateMeter(performance.now());
  #timer: NodeJS.Timeout | undefined;
  /** Undefined while the length is not known. */
  #bytes: number | undefined;
  #resumedAt = 0;
  #end = 0;

  /** @param quiet true: nothing is shown but for programs */
  constructor(report: Report, { stderr }: CliContext, name: string, quiet: boolean) {
    this.#report = report;
    this.#name = name;
    this.#quiet = quiet;
    const isTerminal = stderr === process.stderr && process.stderr.isTTY === true;
    this.#line = new MovingLine(stderr, isTerminal && !quiet && !report.json);
  }

  /** Time since the start, whole milliseconds. */
  get ms(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** @param bytes undefined: the length is known in the end only */
  begun(bytes: number | undefined, stored: number): void {
    this.#bytes = bytes;
    this.#resumedAt = stored;
    this.#end = stored;
    const resumed = stored > 0 ? `, ${formatBytes(stored)} are there already` : '';
    const event = { event: 'start', bytes, storedBytes: stored };
    const length = bytes === undefined ? 'of unknown length' : formatBytes(bytes);
    this.tell(event, `${this.#name}: ${length}${resumed}`);
    const usual = this.#line.isMoving ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
    const intervalMs = this.#report.json ? JSON_INTERVAL_MS : usual;
    this.#timer = setInterval(() => this.#show(), intervalMs).unref();
  }

  /** Tells that a depot is used that an edge has named. */
  found(edge: string, by: string): void {
    this.tell({ event: 'depot-found', edge, by }, `${edge}: found by way of ${by}`);
  }

  /** Tells that an edge is not used, or names no depots. */
  passed(edge: string, { code, message }: MillraceError): void {
    this.tell({ event: 'edge-passed', edge, code, message }, `${edge}: ${message}`);
  }

  /** Takes another number of bytes for the whole. */
  planned(bytes: number): void {
    this.#bytes = bytes;
  }

  sent(end: number): void {
    this.#rate.add(Math.max(0, end - this.#end));
    this.#end = end;
  }

  retried({ code, message }: MillraceError, pauseMs: number): void {
    const event = { event: 'retry', code, message, ms: pauseMs };
    this.tell(event, `${message}; trying again in ${formatDuration(pauseMs)}`);
  }

  left(edge: string, { code, message }: MillraceError): void {
    const event = { event: 'depot-left', edge, code, message };
    this.tell(event, `${edge}: ${message}; the other depots store what it was to store`);
  }

  /** Says how much has been stored, for people. */
  stored(): void {
    const { ms } = this;
    const bytes = this.#bytes ?? this.#end;
    const rate = formatRate((bytes - this.#resumedAt) / Math.max(0.001, ms / 1000));
    this.#note(`Stored ${formatBytes(bytes)} in ${formatDuration(ms)}, ${rate}`);
  }

  /** Tells of an event: an object for programs, a line for people. */
  tell(event: object, text: string): void {
    if (this.#report.json) this.#report.object(event);
    else this.#note(text);
  }

  /** Tells of what the user has to know, also if nothing else is shown. */
  warn(event: object, text: string): void {
    if (this.#report.json) this.#report.object(event);
    else this.#line.say(text);
  }

  /** Ends the updates. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#line.clear();
  }

  #show(): void {
    const bytesPerSecond = this.#rate.bytesPerSecond(performance.now());
    const [length, storedBytes] = [this.#bytes, this.#end];
    const left = length === undefined ? undefined : Math.max(0, length - storedBytes);
    const etaMs =
      left !== undefined && bytesPerSecond > 0 ? (left / bytesPerSecond) * 1000 : undefined;
    if (this.#report.json) {
      this.#report.object({ event: 'progress', length, storedBytes, bytesPerSecond, etaMs });
      return;
    }
    if (this.#quiet) return;
    // Bytes go in order: the strip fills from the left.
    const full = (cells: number) => (storedBytes / Math.max(1, length ?? Infinity)) * cells;
    const strip = (cells: number) =>
      Array.from({ length: cells }, (_, i) => Math.min(1, Math.max(0, full(cells) - i)));
    const shown: Shown = { length, storedBytes, bytesPerSecond, etaMs, strip };
    const name = printable(this.#name);
    if (this.#line.isMoving) this.#line.draw(terminalLine(name, shown, this.#line.columns));
    else this.#line.say(plainLine(name, shown));
  }

  #note(text: string): void {
    if (!this.#quiet) this.#line.say(text);
  }
}
