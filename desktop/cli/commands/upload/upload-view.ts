/** Shows the progress and the result of an upload. */

import type { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import type { Spread, SpreadObserver } from '../../../engine/upload/spread-upload.ts';
import type { Uploaded } from '../../../engine/upload/upload.ts';
import type { CliContext, Report } from '../../console/context.ts';
import { MovingLine } from '../../text/moving-line.ts';
import { printable } from '../../text/printable.ts';
import { plainLine, type Shown } from '../../text/progress-line.ts';
import { terminalLine } from '../../text/terminal-line.ts';

/** Intervals between updates of the progress. */
const TERMINAL_INTERVAL_MS = 200;
const PLAIN_INTERVAL_MS = 5000;
const JSON_INTERVAL_MS = 1000;

/** Shows an upload: a line that is redrawn on a terminal, lines elsewhere, objects for programs. */
export class UploadView implements SpreadObserver {
  readonly #report: Report;
  readonly #out: CliContext;
  readonly #name: string;
  readonly #quiet: boolean;
  readonly #line: MovingLine;
  readonly #startedAt = performance.now();
  readonly #rate = new RateMeter(performance.now());
  #timer: NodeJS.Timeout | undefined;
  #bytes = 0;
  #resumedAt = 0;
  #end = 0;

  constructor(report: Report, out: CliContext, name: string, quiet: boolean) {
    this.#report = report;
    this.#out = out;
    this.#name = name;
    this.#quiet = quiet;
    const isTerminal = out.stderr === process.stderr && process.stderr.isTTY === true;
    this.#line = new MovingLine(out.stderr, isTerminal && !quiet && !report.json);
  }

  begun(bytes: number, stored: number): void {
    this.#bytes = bytes;
    this.#resumedAt = stored;
    this.#end = stored;
    const resumed = stored > 0 ? `, ${formatBytes(stored)} are there already` : '';
    if (this.#report.json) {
      this.#report.object({ event: 'start', bytes, storedBytes: stored });
    } else {
      this.#note(`${this.#name}: ${formatBytes(bytes)}${resumed}`);
    }
    const usual = this.#line.isMoving ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
    const intervalMs = this.#report.json ? JSON_INTERVAL_MS : usual;
    this.#timer = setInterval(() => this.#progress(), intervalMs).unref();
  }

  sent(end: number): void {
    this.#rate.add(Math.max(0, end - this.#end));
    this.#end = end;
  }

  retried(error: MillraceError, pauseMs: number): void {
    if (this.#report.json) {
      const { code, message } = error;
      this.#report.object({ event: 'retry', code, message, ms: pauseMs });
    } else {
      this.#note(`${error.message}; trying again in ${formatDuration(pauseMs)}`);
    }
  }

  anew(): void {
    if (this.#report.json) this.#report.object({ event: 'anew' });
    else this.#note('the depot does not have the earlier upload any more: beginning anew');
  }

  left(edge: string, error: MillraceError): void {
    if (this.#report.json) {
      const { code, message } = error;
      this.#report.object({ event: 'depot-left', edge, code, message });
    } else {
      this.#note(`${edge}: ${error.message}; the other depots store what it was to store`);
    }
  }

  done({ link, manage, expires, bytes, sha256 }: Uploaded): void {
    this.end();
    const ms = performance.now() - this.#startedAt;
    if (this.#report.json) {
      const members = { link, manage, expires, bytes, sha256, ms: Math.round(ms) };
      this.#report.object({ event: 'done', ...members });
      return;
    }
    this.#stored(bytes, ms);
    this.#out.stdout.write(`${link}\n`);
    if (this.#quiet) return;
    this.#out.stdout.write(`  expires  ${expires}\n`);
    this.#out.stdout.write(`  manage   ${manage} (shown this once; keep it to yourself)\n`);
  }

  /** Shows a file that is stored in several depots. @param path of the exNode */
  spread({ exnode, links, wholes, expires }: Spread, path: string): void {
    this.end();
    const ms = Math.round(performance.now() - this.#startedAt);
    const until = new Date(expires).toISOString();
    if (this.#report.json) {
      const { size: bytes, sha256, root } = exnode;
      const members = { exnode: path, links, wholes, expires: until, bytes, sha256, root, ms };
      this.#report.object({ event: 'done', ...members });
      return;
    }
    this.#stored(this.#bytes, ms);
    for (const link of links) this.#out.stdout.write(`${link}\n`);
    if (this.#quiet) return;
    for (const link of wholes) this.#out.stdout.write(`  file     ${link}\n`);
    this.#out.stdout.write(`  expires  ${until}\n`);
    this.#out.stdout.write(`  manage   ${path} (it gives all rights: keep it to yourself)\n`);
  }

  /** Ends the updates. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#line.clear();
  }

  #progress(): void {
    const bytesPerSecond = this.#rate.bytesPerSecond(performance.now());
    const left = this.#bytes - this.#end;
    const etaMs = bytesPerSecond > 0 ? (left / bytesPerSecond) * 1000 : undefined;
    const [length, storedBytes] = [this.#bytes, this.#end];
    if (this.#report.json) {
      this.#report.object({ event: 'progress', length, storedBytes, bytesPerSecond, etaMs });
      return;
    }
    if (this.#quiet) return;
    // Bytes go in order: the strip fills from the left.
    const full = (cells: number) => (storedBytes / Math.max(1, length)) * cells;
    const strip = (cells: number) =>
      Array.from({ length: cells }, (_, i) => Math.min(1, Math.max(0, full(cells) - i)));
    const shown: Shown = { length, storedBytes, bytesPerSecond, etaMs, strip };
    const name = printable(this.#name);
    if (this.#line.isMoving) this.#line.draw(terminalLine(name, shown, this.#line.columns));
    else this.#line.say(plainLine(name, shown));
  }

  #stored(bytes: number, ms: number): void {
    const rate = formatRate((bytes - this.#resumedAt) / Math.max(0.001, ms / 1000));
    this.#note(`Stored ${formatBytes(bytes)} in ${formatDuration(ms)}, ${rate}`);
  }

  #note(text: string): void {
    if (!this.#quiet) this.#line.say(text);
  }
}
