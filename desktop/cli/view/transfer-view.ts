/** Shows a download of this process: to people on a terminal, in a log, or to programs. */

import { basename } from 'node:path';
import type { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import type { Unpacked } from '../../engine/archive/unpack.ts';
import type {
  DownloadEvent,
  DownloadProgress,
  DownloadResult,
} from '../../engine/download/download.ts';
import type { Report, Terminal } from '../console/context.ts';
import { counted } from '../text/counted.ts';
import { MovingLine } from '../text/moving-line.ts';
import { printable } from '../text/printable.ts';
import { plainLine } from '../text/progress-line.ts';
import type { terminalLine } from '../text/terminal-line.ts';

const TERMINAL_INTERVAL_MS = 200;
const PLAIN_INTERVAL_MS = 5000;
const JSON_INTERVAL_MS = 1000;

export interface TransferView {
  /** Interval between updates of the progress, ms. */
  readonly intervalMs: number;
  /** Shows an event. @param url without user name and password */
  event(event: DownloadEvent, url: string): void;
  progress(progress: DownloadProgress): void;
  done(result: DownloadResult, ms: number): void;
  unpacked(result: Unpacked): void;
  failed(error: MillraceError, url: string): void;
}

/** Chooses the view of downloads. @param quiet only errors; programs still get everything */
export async function transferView(
  out: Terminal,
  report: Report,
  quiet: boolean,
): Promise<TransferView> {
  if (report.json) return new JsonView(report);
  if (quiet || out.stdout.isTTY !== true) return new TextView(out, report, quiet);
  // Imported here: only a terminal needs widths in columns.
  const { terminalLine } = await import('../text/terminal-line.ts');
  return new TextView(out, report, false, terminalLine);
}

/** For people: a line that is redrawn on a terminal, a line now and then elsewhere. */
class TextView implements TransferView {
  readonly intervalMs: number;
  readonly #report: Report;
  readonly #quiet: boolean;
  readonly #line: MovingLine;
  readonly #moving: typeof terminalLine | undefined;
  #name = '';
  /** The latest note that a source is left out: not printed if the failure says the same. */
  #leftOut: { readonly text: string; readonly why: unknown } | undefined;

  constructor(out: Terminal, report: Report, quiet: boolean, moving?: typeof terminalLine) {
    this.#line = new MovingLine(out.stdout, moving !== undefined);
    this.#report = report;
    this.#quiet = quiet;
    this.#moving = moving;
    this.intervalMs = moving === undefined ? PLAIN_INTERVAL_MS : TERMINAL_INTERVAL_MS;
  }

  event(event: DownloadEvent): void {
    if (event.kind === 'note' && event.note === 'source-left-out') {
      this.#sayLeftOut();
      this.#leftOut = { text: event.text, why: event.values.why };
      return;
    }
    // The end of the download says it.
    if (event.kind === 'note' && event.note === 'signed-by') return;
    if (event.kind === 'note') return this.#say(`note: ${event.text}`);
    if (event.kind === 'check') return this.#say(`checking the ${event.what} ...`);
    if (event.kind === 'state') {
      if (event.state === 'waiting-for-network') this.#say('waiting for the network ...');
      return;
    }
    this.#name = printable(basename(event.path));
    const size = event.length === undefined ? 'size not known' : formatBytes(event.length);
    const resumed =
      event.resumedBytes > 0 ? `, ${formatBytes(event.resumedBytes)} are there already` : '';
    this.#say(`${this.#name}: ${size} via ${event.via}${resumed}`);
  }

  progress(progress: DownloadProgress): void {
    this.#sayLeftOut();
    if (this.#quiet || this.#name === '') return;
    if (this.#moving === undefined) return this.#say(plainLine(this.#name, progress));
    this.#line.draw(this.#moving(this.#name, progress, this.#line.columns));
  }

  done(result: DownloadResult, ms: number): void {
    const rate = formatRate(result.receivedBytes / Math.max(0.001, ms / 1000));
    this.#say(
      `Saved ${result.path} (${formatBytes(result.bytes)} in ${formatDuration(ms)}, ${rate})`,
    );
    const { vouch } = result;
    if (vouch === undefined) return;
    this.#say(`Signed by ${printable(vouch.by)} (key ${printable(vouch.fingerprint)})`);
  }

  unpacked({ folder, files, folders }: Unpacked): void {
    const inside = `${counted(files, 'file')}, ${counted(folders, 'folder')}`;
    this.#say(`Unpacked ${folder} (${inside})`);
  }

  failed(error: MillraceError, url: string): void {
    if (this.#leftOut?.why === error.message) this.#leftOut = undefined;
    this.#sayLeftOut();
    this.#line.clear();
    this.#report.error(error, url);
  }

  #sayLeftOut(): void {
    const note = this.#leftOut;
    this.#leftOut = undefined;
    if (note !== undefined) this.#say(`note: ${note.text}`);
  }

  #say(text: string): void {
    this.#sayLeftOut();
    if (!this.#quiet) this.#line.say(text);
  }
}

/** For programs: one JSON object per line on standard output. */
class JsonView implements TransferView {
  readonly intervalMs = JSON_INTERVAL_MS;
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  event(event: DownloadEvent, url: string): void {
    const { kind, ...rest } = event;
    this.#report.object({ event: kind, url, ...rest });
  }

  progress({ length, storedBytes, bytesPerSecond, etaMs }: DownloadProgress): void {
    this.#report.object({ event: 'progress', length, storedBytes, bytesPerSecond, etaMs });
  }

  done(result: DownloadResult, ms: number): void {
    this.#report.object({ event: 'done', ...result, ms: Math.round(ms) });
  }

  unpacked(result: Unpacked): void {
    this.#report.object({ event: 'unpacked', ...result });
  }

  failed(error: MillraceError, url: string): void {
    this.#report.error(error, url);
  }
}
