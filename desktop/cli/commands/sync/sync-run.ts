/** Carries out `millrace sync publish` and `millrace sync apply`. */

import { chmod } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Digest } from '@millrace/shared/base/digest';
import { EXIT, MillraceError } from '@millrace/shared/base/errors';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import type { Manifest } from '@millrace/shared/sync/manifest';
import { syncScript } from '@millrace/shared/sync/sync-script';
import { type ApplyProgress, applyManifest } from '../../../engine/sync/apply.ts';
import { SyncFetcher } from '../../../engine/sync/fetcher.ts';
import { MANIFEST_NAME, publish, replace } from '../../../engine/sync/publish.ts';
import {
  type CliContext,
  type CommonOptions,
  errorObject,
  type Report,
} from '../../console/context.ts';
import { RETRY_FOR_MS } from '../../options/request-options.ts';
import { MovingLine } from '../../text/moving-line.ts';
import { UsageError } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';
import { appliedLine, planLines, progressText, publishedLines } from '../../view/sync-text.ts';
import { fetchManifest, readManifest } from './read-manifest.ts';

interface ScriptOptions extends CommonOptions {
  readonly script?: string;
  readonly edge?: readonly string[];
  readonly edgesOnly?: boolean;
}

export interface ApplyOptions extends ScriptOptions {
  readonly checksum?: Digest;
  readonly delete?: boolean;
  readonly dryRun?: boolean;
  readonly archive?: boolean;
  readonly proxy?: string;
  readonly timeout?: number;
  readonly retryFor?: number;
}

export interface PublishOptions extends ScriptOptions {
  readonly url: string;
  readonly output?: string;
  readonly archive?: boolean;
}

const FAILURES_NAMED = 10;
const PROGRESS_MS = 200;

/** Writes the manifest of a folder, and its archive and script if asked. @throws MillraceError */
export async function publishFolder(
  folder: string,
  options: PublishOptions,
  report: Report,
  { cwd, signal }: CliContext,
): Promise<undefined> {
  const dir = resolve(cwd, folder);
  const { url, archive = false, script } = options;
  const output = resolve(cwd, options.output ?? join(dir, MANIFEST_NAME));
  const scriptPath = script === undefined ? undefined : resolve(cwd, script);
  const except = scriptPath === undefined ? [] : [scriptPath];
  const published = await publish({ dir, url, output, archive, except, signal });
  const { manifest, path, sha256, leftOut } = published;
  if (scriptPath !== undefined) await writeScript(scriptPath, manifest, options);
  if (leftOut.length > 0) {
    report.note(`left out, being neither files nor folders: ${leftOut.join(', ')}`);
  }
  const { files, archive: made } = manifest;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const result = { path, sha256, files: files.length, bytes, leftOut, script: scriptPath };
  report.result({ ...result, archive: made?.path }, () => publishedLines(result));
  return undefined;
}

/**
 * Brings a folder to the state of a manifest, or writes the script that does.
 *
 * @returns the exit status
 * @throws MillraceError, UsageError
 */
export async function applyToFolder(
  text: string,
  folder: string | undefined,
  options: ApplyOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const { cwd, signal } = context;
  if (folder === undefined && options.script === undefined) {
    throw new UsageError('the folder is missing');
  }
  const progress = new Progress(context, report);
  const url = /^https?:\/\//i.test(text) ? new URL(text).href : undefined;
  const fetcher = await SyncFetcher.open(url ?? 'http://localhost/', {
    edges: options.edge ?? [],
    direct: options.edgesOnly !== true,
    proxy: options.proxy,
    timeoutMs: options.timeout ?? REQUEST_DEFAULTS.timeoutMs,
    retryForMs: options.retryFor ?? RETRY_FOR_MS,
    random: Math.random,
    onBytes: (count) => progress.onBytes(count),
  });
  try {
    const manifest =
      url === undefined
        ? await readManifest(resolve(cwd, text), options.checksum)
        : await fetchManifest(url, options.checksum, fetcher, signal);
    if (options.script !== undefined) {
      const path = resolve(cwd, options.script);
      await writeScript(path, manifest, options);
      report.result({ script: path }, () => [`Wrote ${path}`]);
      return EXIT.ok;
    }
    progress.begin();
    return await run(manifest, resolve(cwd, folder as string), fetcher, options, {
      report,
      progress,
      signal,
    });
  } finally {
    progress.end();
    await fetcher.close();
  }
}

interface Surroundings {
  readonly report: Report;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function run(
  manifest: Manifest,
  dir: string,
  fetcher: SyncFetcher,
  options: ApplyOptions,
  { report, progress, signal }: Surroundings,
): Promise<number> {
  const dryRun = options.dryRun === true;
  const archive = options.archive === true;
  if (archive && manifest.archive === undefined) {
    throw new MillraceError('bad-option', 'the manifest names no archive: publish with --archive');
  }
  const applied = await applyManifest(manifest, fetcher, {
    dir,
    remove: options.delete === true,
    dryRun,
    archive,
    signal,
    onProgress: (stand) => progress.onProgress(stand),
  });
  progress.end();
  const { plan, failed, ...counts } = applied;
  const { receivedBytes } = progress;
  const { unchanged } = plan;
  for (const { path, error } of report.json ? [] : failed.slice(0, FAILURES_NAMED)) {
    report.error(error, path);
  }
  if (!report.json && failed.length > FAILURES_NAMED) {
    report.note(`... and ${failed.length - FAILURES_NAMED} more.`);
  }
  report.result(
    {
      dir,
      ...counts,
      unchanged,
      receivedBytes,
      failed: failed.map(({ path, error }) => ({ path, ...errorObject(error) })),
      ...(dryRun ? { plan: planNames(plan) } : {}),
    },
    () =>
      dryRun
        ? planLines(plan)
        : [appliedLine({ ...counts, unchanged, receivedBytes }, failed.length)],
  );
  return failed[0]?.error.row.exit ?? EXIT.ok;
}

function planNames(plan: Awaited<ReturnType<typeof applyManifest>>['plan']): object {
  const paths = (all: readonly { places: readonly { path: string }[] }[]) =>
    all.flatMap(({ places }) => places.map(({ path }) => path));
  return {
    fetch: paths(plan.fetch),
    fetchBytes: plan.fetchBytes,
    copy: paths(plan.copy),
    settle: plan.settle.map(({ path }) => path),
    folders: plan.folders,
    remove: [...plan.clear, ...plan.remove],
  };
}

/** Writes the script of a manifest, executable. */
async function writeScript(
  path: string,
  manifest: Manifest,
  { edge = [], edgesOnly }: ScriptOptions,
): Promise<void> {
  await replace(path, syncScript(manifest, { edges: edge, direct: edgesOnly !== true }));
  await chmod(path, 0o777 & ~process.umask());
}

/** The progress line, drawn only on a terminal. */
class Progress {
  receivedBytes = 0;
  readonly #line: MovingLine;
  readonly #startedAt = performance.now();
  #stand: ApplyProgress | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(context: CliContext, report: Report) {
    this.#line = new MovingLine(context.stdout, !report.json && context.stdout.isTTY === true);
  }

  onBytes(count: number): void {
    this.receivedBytes += count;
  }

  onProgress(stand: ApplyProgress): void {
    this.#stand = stand;
  }

  begin(): void {
    if (this.#line.isMoving) this.#timer = setInterval(() => this.#draw(), PROGRESS_MS);
  }

  end(): void {
    clearInterval(this.#timer);
    this.#line.clear();
  }

  #draw(): void {
    if (this.#stand === undefined) return;
    const ms = performance.now() - this.#startedAt;
    this.#line.draw(printable(progressText(this.#stand, this.receivedBytes, ms)));
  }
}
