/** `millrace get`: downloads one URL after the other and shows how it goes. */

import { basename, resolve } from 'node:path';
import { asMillraceError, EXIT, MillraceError } from '@millrace/shared/base/errors';
import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import {
  chooseFiles,
  requestOf as requestOfFile,
} from '@millrace/shared/download/described-request';
import { parseMetalink } from '@millrace/shared/download/metalink';
import { type DownloadRequest, REQUEST_DEFAULTS } from '@millrace/shared/download/request';
import {
  Download,
  type DownloadEvent,
  type DownloadResult,
  type DownloadState,
} from '../engine/download.ts';
import { withoutLogin } from '../engine/net/credentials.ts';
import { looksLikeMetalinkName, readMetalink } from './fetch-metalink.ts';
import type { GetOptions } from './get-options.ts';
import { plainLine, terminalLine } from './progress-line.ts';

const TERMINAL_INTERVAL_MS = 200;
const PLAIN_INTERVAL_MS = 5000;
const JSON_INTERVAL_MS = 1000;

/** Where output goes; tests give their own. */
export interface Output {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream;
}

/**
 * Downloads the URLs in order; a failure does not keep the next from being tried.
 *
 * @param signal interrupts the download under way and leaves the rest
 * @returns the exit status: 0, or that of the first failure
 */
export async function get(
  urls: readonly string[],
  options: GetOptions,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  let status: number = EXIT.ok;
  for (const text of urls) {
    const error = await getOne(text, options, output, signal);
    if (error === undefined) continue;
    if (status === EXIT.ok) status = error.row.exit;
    if (signal.aborted) break;
  }
  return status;
}

/** One download, or several where the text names a metalink. */
async function getOne(
  text: string,
  options: GetOptions,
  output: Output,
  signal: AbortSignal,
): Promise<MillraceError | undefined> {
  let failure: MillraceError | undefined;
  try {
    for (const request of await requestsFor(text, options, signal)) {
      failure ??= await run(request, options, output, signal);
      if (signal.aborted) break;
    }
    return failure;
  } catch (thrown) {
    const error = asMillraceError(thrown);
    viewFor(options, output).failed(error, withoutLogin(text));
    return error;
  }
}

async function requestsFor(
  text: string,
  options: GetOptions,
  signal: AbortSignal,
): Promise<DownloadRequest[]> {
  if (!looksLikeMetalinkName(text)) {
    return [requestOf([cleanUrl(text), ...options.mirror.map(cleanUrl)], options)];
  }
  const base = /^https?:/i.test(text) ? text : undefined;
  const document = await readMetalink(text, process.cwd(), signal);
  const files = chooseFiles(parseMetalink(document, base));
  return files.map((file) => {
    const { urls: _, digests, ...settings } = requestOf([], options);
    const request = requestOfFile(file, settings, Date.now());
    return { ...request, digests: [...request.digests, ...digests] };
  });
}

function viewFor(options: GetOptions, output: Output): TextView | JsonView {
  return options.json ? new JsonView(output) : new TextView(output, options.quiet);
}

async function run(
  request: DownloadRequest,
  options: GetOptions,
  output: Output,
  signal: AbortSignal,
): Promise<MillraceError | undefined> {
  const view = viewFor(options, output);
  const shown = withoutLogin(request.urls[0] as string);
  const startedAt = performance.now();
  try {
    const download = new Download(request, {
      signal,
      onEvent: (event) => view.event(event, shown),
      random: Math.random,
    });
    const timer = setInterval(() => view.progress(download), view.intervalMs);
    try {
      view.done(await download.run(), performance.now() - startedAt);
    } finally {
      clearInterval(timer);
    }
    return undefined;
  } catch (thrown) {
    const error = asMillraceError(thrown);
    view.failed(error, shown);
    return error;
  }
}

function requestOf(urls: readonly string[], options: GetOptions): DownloadRequest {
  return {
    urls,
    edges: options.edge,
    direct: !options.edgesOnly,
    dir: options.dir,
    file: options.output === undefined ? undefined : resolve(options.output),
    overwrite: options.overwrite,
    rename: options.output === undefined,
    connections: options.connections,
    connectionsPerHost: options.connectionsPerHost,
    redundancy: options.redundancy,
    redundantShare: REQUEST_DEFAULTS.redundantShare,
    headers: {
      ...options.header,
      ...(options.referer === undefined ? {} : { referer: options.referer }),
      ...(options.userAgent === undefined ? {} : { 'user-agent': options.userAgent }),
    },
    login: options.user,
    netrc: options.netrc,
    cookieFile: options.cookies,
    proxy: options.proxy,
    digests: options.checksum,
    sidecars: options.findChecksum,
    limit: options.limit,
    timeoutMs: options.timeout,
    retryForMs: options.retryFor,
  };
}

function cleanUrl(text: string): string {
  try {
    const url = new URL(text.includes('://') ? text : `https://${text}`);
    url.hash = '';
    if (url.protocol === 'http:' || url.protocol === 'https:') return url.href;
  } catch {
    // Reported below.
  }
  throw new MillraceError('bad-url', withoutLogin(text));
}

/** For people: a line that moves on a terminal, lines now and then elsewhere. */
class TextView {
  readonly #out: Output;
  readonly #quiet: boolean;
  readonly #moving: boolean;
  #name = '';

  constructor(out: Output, quiet: boolean) {
    this.#out = out;
    this.#quiet = quiet;
    this.#moving = out.stdout.isTTY === true && !quiet;
  }

  get intervalMs(): number {
    return this.#moving ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
  }

  event(event: DownloadEvent): void {
    if (event.kind === 'note') return this.#line(`note: ${event.text}`);
    if (event.kind === 'check') return this.#line(`checking the ${event.what} ...`);
    if (event.kind === 'state') return this.#state(event.state);
    this.#name = basename(event.path);
    const size = event.length === undefined ? 'size not known' : formatBytes(event.length);
    const resumed =
      event.resumedBytes > 0 ? `, ${formatBytes(event.resumedBytes)} are there already` : '';
    this.#line(`${this.#name}: ${size} via ${event.via}${resumed}`);
  }

  #state(state: DownloadState): void {
    if (state === 'waiting-for-network') this.#line('waiting for the network ...');
  }

  progress(download: Download): void {
    if (this.#quiet || this.#name === '') return;
    const progress = download.progress();
    if (!this.#moving) return this.#line(plainLine(this.#name, progress));
    const columns = this.#out.stdout.columns ?? 80;
    this.#out.stdout.write(`\r\x1b[K${terminalLine(this.#name, progress, columns)}`);
  }

  done(result: DownloadResult, ms: number): void {
    const rate = formatRate(result.receivedBytes / Math.max(0.001, ms / 1000));
    this.#line(
      `Saved ${result.path} (${formatBytes(result.bytes)} in ${formatDuration(ms)}, ${rate})`,
    );
  }

  failed(error: MillraceError, url: string): void {
    this.#clear();
    const what = error.code === 'interrupted' ? error.row.title : `${url}: ${error.message}`;
    this.#out.stderr.write(`${what}.\n${error.row.advice}\n`);
  }

  #line(text: string): void {
    if (this.#quiet) return;
    this.#clear();
    this.#out.stdout.write(`${text}\n`);
  }

  #clear(): void {
    if (this.#moving) this.#out.stdout.write('\r\x1b[K');
  }
}

/** For programs: one JSON object per line on standard output. */
class JsonView {
  readonly intervalMs = JSON_INTERVAL_MS;
  readonly #out: Output;

  constructor(out: Output) {
    this.#out = out;
  }

  event(event: DownloadEvent, url: string): void {
    const { kind, ...rest } = event;
    this.#print({ event: kind, url, ...rest });
  }

  progress(download: Download): void {
    const { length, storedBytes, bytesPerSecond, etaMs } = download.progress();
    this.#print({ event: 'progress', length, storedBytes, bytesPerSecond, etaMs });
  }

  done(result: DownloadResult, ms: number): void {
    this.#print({ event: 'done', ...result, ms: Math.round(ms) });
  }

  failed(error: MillraceError, url: string): void {
    const { code, detail, message, row } = error;
    const { retryable, exit, advice } = row;
    this.#print({ event: 'error', url, code, message, detail, advice, retryable, exit });
  }

  #print(value: object): void {
    this.#out.stdout.write(`${JSON.stringify(value)}\n`);
  }
}
