/** Carries out `millrace stream`: runs the download, serves it, and starts the player. */

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { EXIT } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import { looksLikeExnodeName } from '@millrace/shared/download/request/document-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { DownloadFactory, Run, RunEvent, RunResult } from '../../engine/queue/contract.ts';
import { type ServedStream, serveStream } from '../../engine/stream/serve-stream.ts';
import type { CliContext, CommonOptions, Report } from '../console/context.ts';
import { type Player, startPlayer } from '../console/player.ts';
import { downloadUrl, requestOf, wholeRequest } from '../options/asked-request.ts';
import type { RequestOptions } from '../options/request-options.ts';
import { MovingLine } from '../text/moving-line.ts';
import { UsageError } from '../text/option-values.ts';
import { printable } from '../text/printable.ts';
import { plainLine } from '../text/progress-line.ts';
import { terminalLine } from '../text/terminal-line.ts';
import { splitWords } from '../text/words.ts';

export interface StreamOptions extends RequestOptions, CommonOptions {
  readonly player?: string;
  readonly printUrl?: boolean;
  readonly keep: boolean;
}

const TERMINAL_INTERVAL_MS = 200;
const PLAIN_INTERVAL_MS = 5000;

/** One stream, from the request to the end of the player. */
export class StreamRun {
  readonly #context: CliContext;
  readonly #report: Report;
  readonly #options: StreamOptions;
  readonly #create: DownloadFactory;
  readonly #ended = new AbortController();
  #stream: ServedStream | undefined;
  #player: Player | undefined;
  #name = '';
  /**
   * True if a progress line is redrawn in place: the output is a terminal, and no player uses it.
   */
  readonly #line: MovingLine;

  constructor(
    context: CliContext,
    report: Report,
    options: StreamOptions,
    create: DownloadFactory,
  ) {
    this.#context = context;
    this.#report = report;
    this.#options = options;
    this.#create = create;
    const ours = options.player === undefined && options.printUrl !== true && !report.json;
    this.#line = new MovingLine(context.stdout, ours && context.stdout.isTTY === true);
  }

  async run(text: string): Promise<number> {
    const { player, keep, output, dir } = this.#options;
    if (!keep && (output !== undefined || dir !== undefined)) {
      throw new UsageError('--no-keep deletes the file: give neither -o nor -d with it');
    }
    const command = player === undefined ? undefined : splitWords(player);
    const temporary = keep ? undefined : await mkdtemp(join(tmpdir(), 'millrace-stream-'));
    const stop = () => this.#ended.abort();
    this.#context.signal.addEventListener('abort', stop, { once: true });
    if (this.#context.signal.aborted) stop();
    try {
      return await this.#play(await this.#request(text, temporary), command);
    } finally {
      this.#context.signal.removeEventListener('abort', stop);
      await this.#stream?.close();
      if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
    }
  }

  async #request(text: string, temporary: string | undefined): Promise<DownloadRequest> {
    const { cwd } = this.#context;
    const isExnode = looksLikeExnodeName(text);
    const asked = requestOf(isExnode ? '' : downloadUrl(text), this.#options, cwd);
    const whole = wholeRequest({ ...asked, dir: temporary ?? asked.dir ?? cwd }, cwd);
    if (!isExnode) return whole;
    // Imported here: most streams have no exNode.
    const { exnodeRequest } = await import('../options/exnode-request.ts');
    const rename = this.#options.output === undefined;
    const named = { ...whole, rename };
    return (await exnodeRequest(text, named, cwd, this.#ended.signal)).request;
  }

  async #play(request: DownloadRequest, command: readonly string[] | undefined): Promise<number> {
    const download = await this.#create(request, {
      signal: this.#ended.signal,
      onEvent: (event) => this.#event(event),
      random: Math.random,
    });
    const finished = download.run();
    finished.catch(() => {}); // awaited below
    const startedAt = performance.now();
    const interval = this.#line.isMoving ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
    const timer = setInterval(() => this.#progress(download), interval);
    try {
      this.#stream = await serveStream(download, finished);
      this.#showAddress(this.#stream.url);
      if (command !== undefined) this.#player = await startPlayer(command, this.#stream.url);
      const playing = this.#player?.ended;
      const result = await this.#toTheEnd(finished, playing);
      clearInterval(timer);
      if (result === undefined) return EXIT.ok; // a file that is not kept need not be complete
      this.#saved(result, performance.now() - startedAt);
      await this.#untilEnough(playing);
      return EXIT.ok;
    } finally {
      clearInterval(timer);
      this.#line.clear();
      // The download ends first: its file is closed before it is moved or deleted.
      this.#ended.abort();
      await finished.catch(() => {});
      await this.#player?.close();
    }
  }

  /**
   * Waits for the end of the download.
   *
   * @returns undefined if the player has ended and nothing has to be kept
   */
  async #toTheEnd(
    finished: Promise<RunResult>,
    playing: Promise<void> | undefined,
  ): Promise<RunResult | undefined> {
    const first = playing?.then(() => undefined) ?? new Promise<never>(() => {});
    const result = await Promise.race([finished, first]);
    if (result !== undefined || !this.#options.keep) return result;
    this.#say('The player has ended; the download continues. Ctrl-C interrupts it.');
    return finished;
  }

  /** Keeps serving the complete file until the player ends or the user interrupts. */
  async #untilEnough(playing: Promise<void> | undefined): Promise<void> {
    const { signal } = this.#ended;
    if (signal.aborted) return;
    const interrupted = once(signal, 'abort').then(() => {});
    if (playing === undefined) this.#say('The address can be used until Ctrl-C.');
    await (playing === undefined ? interrupted : Promise.race([playing, interrupted]));
  }

  #event(event: RunEvent): void {
    if (this.#report.json) {
      const { kind, ...rest } = event;
      this.#report.object({ event: kind, ...rest });
    }
    if (event.kind === 'note') this.#say(`note: ${event.text}`);
    if (event.kind === 'check') this.#say(`checking the ${event.what} ...`);
    if (event.kind !== 'start') return;
    const { path, length } = event;
    this.#name = basename(path);
    const size = length === undefined ? 'size not known' : formatBytes(length);
    this.#say(`${this.#name}: ${size} via ${event.via}`);
  }

  #showAddress(url: string): void {
    const { json } = this.#report;
    if (json) this.#report.object({ event: 'stream', url });
    else if (this.#options.printUrl === true) this.#context.stdout.write(`${url}\n`);
    else this.#say(`Play ${url}`);
  }

  #progress(download: Run): void {
    if (this.#name === '') return;
    const { length, storedBytes, bytesPerSecond, etaMs, ...p } = download.progress();
    const figures = { length, storedBytes, bytesPerSecond, etaMs };
    if (this.#report.json) return this.#report.object({ event: 'progress', ...figures });
    if (this.#options.printUrl === true || this.#player !== undefined) return;
    const view = { ...figures, strip: p.strip };
    const name = printable(this.#name);
    if (!this.#line.isMoving) return this.#say(plainLine(name, view));
    this.#line.draw(terminalLine(name, view, this.#line.columns));
  }

  #saved({ path, bytes }: RunResult, ms: number): void {
    if (this.#report.json) {
      this.#report.object({ event: 'done', path, bytes, ms: Math.round(ms) });
    }
    this.#say(this.#options.keep ? `Saved ${path} (${formatBytes(bytes)})` : 'All of it is here.');
  }

  /** Prints a line, unless a script reads the output. */
  #say(text: string): void {
    if (this.#report.json || this.#options.printUrl === true) return;
    this.#line.say(text);
  }
}
