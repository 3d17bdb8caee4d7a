/** Runs an upload, and shows its progress. */

import { basename, resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { type Uploaded, type UploadObserver, upload } from '../../../engine/upload/upload.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { edgeOrigin, readToken } from '../../console/edge-link.ts';
import { MovingLine } from '../../text/moving-line.ts';
import { printable } from '../../text/printable.ts';
import { plainLine, type Shown } from '../../text/progress-line.ts';

export interface UploadCommandOptions extends CommonOptions {
  readonly edge?: string;
  readonly tokenFile?: string;
  readonly for?: number;
  readonly name?: string;
  readonly quiet?: boolean;
}

const TOKEN_VARIABLE = 'MILLRACE_DEPOT_TOKEN';
const WEEK_MS = 7 * 86_400_000;
/** Time without progress after which an upload is given up. */
const RETRY_MS = 120_000;
/** Intervals between updates of the progress. */
const TERMINAL_INTERVAL_MS = 200;
const PLAIN_INTERVAL_MS = 5000;
const JSON_INTERVAL_MS = 1000;

/** Uploads a file. @returns undefined: the exit status is 0. @throws as `upload` */
export async function runUpload(
  file: string,
  options: UploadCommandOptions,
  report: Report,
  context: CliContext,
): Promise<undefined> {
  const path = resolve(context.cwd, file);
  const token = await readToken(context, options.tokenFile, TOKEN_VARIABLE);
  if (token === undefined) {
    throw new MillraceError('owner-token-required', 'name a file with it: --token-file');
  }
  const name = safeFileName(options.name ?? basename(path));
  const view = new UploadView(report, context, name, options.quiet === true);
  try {
    const uploaded = await upload({
      ...{ path, name, token, signal: context.signal, state: context.state },
      edge: edgeOrigin(options.edge),
      forMs: options.for ?? WEEK_MS,
      retryMs: RETRY_MS,
      now: () => performance.now(),
      observe: view,
    });
    view.done(uploaded);
    return undefined;
  } finally {
    view.end();
  }
}

/** Shows an upload: a line that is redrawn on a terminal, lines elsewhere, objects for programs. */
class UploadView implements UploadObserver {
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

  done({ link, manage, expires, bytes, sha256 }: Uploaded): void {
    this.end();
    const ms = performance.now() - this.#startedAt;
    if (this.#report.json) {
      const members = { link, manage, expires, bytes, sha256, ms: Math.round(ms) };
      this.#report.object({ event: 'done', ...members });
      return;
    }
    const rate = formatRate((bytes - this.#resumedAt) / Math.max(0.001, ms / 1000));
    this.#note(`Stored ${formatBytes(bytes)} in ${formatDuration(ms)}, ${rate}`);
    this.#out.stdout.write(`${link}\n`);
    if (this.#quiet) return;
    this.#out.stdout.write(`  expires  ${expires}\n`);
    this.#out.stdout.write(`  manage   ${manage} (shown this once; keep it to yourself)\n`);
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
    const shown: Shown = { length, storedBytes, bytesPerSecond, etaMs, strip: () => [] };
    const line = plainLine(printable(this.#name), shown);
    if (this.#line.isMoving) this.#line.draw(line);
    else this.#line.say(line);
  }

  #note(text: string): void {
    if (!this.#quiet) this.#line.say(text);
  }
}
