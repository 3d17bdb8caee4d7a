/** Carries out `millrace sync push`, the other half of cosync (WORLDS 4.2). */

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Digest } from '@millrace/shared/base/digest';
import { asMillraceError, type ErrorCode, EXIT, MillraceError } from '@millrace/shared/base/errors';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { bootstrapScript } from '@millrace/shared/sync/bootstrap';
import type { Manifest } from '@millrace/shared/sync/manifest';
import type { PushOutcome } from '@millrace/shared/sync/push-outcome';
import { type PushTarget, parsePushTargets } from '@millrace/shared/sync/push-target';
import { SCRIPT_NAME } from '@millrace/shared/sync/sync-path';
import { syncScript } from '@millrace/shared/sync/sync-script';
import { SyncFetcher } from '../../../engine/sync/fetcher.ts';
import { inParallel } from '../../../engine/sync/in-parallel.ts';
import { replace } from '../../../engine/sync/publish.ts';
import { pushToHost } from '../../../engine/sync/push-host.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { RETRY_FOR_MS } from '../../options/request-options.ts';
import { MovingLine } from '../../text/moving-line.ts';
import { printable } from '../../text/printable.ts';
import { hostLine, pushedLine, pushText } from '../../view/sync-text.ts';
import { PARALLEL, SSH } from './push-defaults.ts';
import { fetchManifest, readManifest } from './read-manifest.ts';

export interface PushOptions extends CommonOptions {
  readonly edge?: readonly string[];
  readonly edgesOnly?: boolean;
  readonly checksum?: Digest;
  readonly script?: string;
  readonly parallel?: number;
  readonly ssh?: readonly string[];
  readonly dryRun?: boolean;
  readonly proxy?: string;
  readonly timeout?: number;
  readonly retryFor?: number;
}

interface HostResult extends PushOutcome {
  readonly target: PushTarget;
  readonly ms: number;
}

type Bootstrap = Omit<Parameters<typeof bootstrapScript>[0], 'dir' | 'token'>;

const PROGRESS_MS = 200;
/** Errors of another file in the place of the script: a longer one, or one that an edge has compared. */
const OTHER_CONTENT: readonly ErrorCode[] = ['wrong-length', 'precondition-failed'];
const TOKEN_BYTES = 16;

/**
 * Brings a folder to the hosts.
 *
 * @returns the exit status
 * @throws MillraceError if nothing could be begun at any host; `interrupted`
 */
export async function pushToHosts(
  text: string,
  names: readonly string[],
  options: PushOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const targets = parsePushTargets(names);
  const bootstrap = await prepare(text, options, context);
  const view = new PushView(context, report, options, targets.length);
  const results: HostResult[] = [];
  view.begin();
  try {
    await inParallel(targets, { atATime: options.parallel ?? PARALLEL }, async (target) => {
      const { name, host, dir } = target;
      view.onProgress(name, undefined);
      const startedAt = performance.now();
      const outcome = await pushToHost({
        command: options.ssh ?? SSH,
        host,
        script: bootstrapScript({
          ...bootstrap,
          dir,
          token: randomBytes(TOKEN_BYTES).toString('hex'),
        }),
        signal: context.signal,
        onProgress: (stand) => view.onProgress(name, stand),
      });
      const result = { target, ...outcome, ms: Math.round(performance.now() - startedAt) };
      results.push(result);
      view.onOver(result);
    });
  } catch (thrown) {
    const error = asMillraceError(thrown);
    if (error.code !== 'interrupted') throw error;
    view.end();
    report.note(pushedLine(results.filter(({ done }) => done).length, targets.length));
    throw error;
  } finally {
    view.end();
  }
  const done = results.filter((result) => result.done).length;
  report.result(
    {
      script: { url: bootstrap.url, sha256: bootstrap.sha256 },
      done,
      hosts: results.map(({ target, counts, ...rest }) => ({ ...target, ...counts, ...rest })),
    },
    () => [pushedLine(done, targets.length)],
  );
  return done === targets.length ? EXIT.ok : EXIT.partial;
}

/** Makes the script, and makes sure that hosts will get it. @throws MillraceError */
async function prepare(
  text: string,
  options: PushOptions,
  { cwd, signal }: CliContext,
): Promise<Bootstrap> {
  const isUrl = /^https?:\/\//i.test(text);
  const path = resolve(cwd, text);
  const read = isUrl ? undefined : await readManifest(path, options.checksum);
  const direct = options.edgesOnly !== true;
  const fetcher = await SyncFetcher.open(read?.url ?? text, {
    edges: options.edge ?? [],
    direct,
    proxy: options.proxy,
    timeoutMs: options.timeout ?? REQUEST_DEFAULTS.timeoutMs,
    retryForMs: options.retryFor ?? RETRY_FOR_MS,
    random: Math.random,
    onBytes: () => {},
  });
  try {
    const manifest = read ?? (await fetchManifest(text, options.checksum, fetcher, signal));
    const { edges } = fetcher;
    const script = scriptOf(manifest, { edges: edges.map(({ url }) => url), direct });
    const url = options.script ?? manifest.url + SCRIPT_NAME;
    if (!isUrl) await writeScript(join(dirname(path), SCRIPT_NAME), script.text);
    // Also brings the script to the edge, before all hosts ask for it.
    await fetcher.small(url, script, signal).catch((cause: unknown) => {
      throw notServed(asMillraceError(cause), url, isUrl ? undefined : dirname(path));
    });
    const { size, sha256 } = script;
    return { url, size, sha256, edges, direct, dryRun: options.dryRun === true };
  } finally {
    await fetcher.close();
  }
}

/** Writes the script, but leaves the same one alone: caches take a later date for a new version. */
async function writeScript(path: string, text: string): Promise<void> {
  const there = await readFile(path, 'utf8').catch(() => undefined);
  if (there !== text) await replace(path, text);
}

function scriptOf(manifest: Manifest, options: Parameters<typeof syncScript>[1]) {
  const text = syncScript(manifest, options);
  const bytes = Buffer.from(text);
  return { text, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Says what to do about a script that its server does not send. */
function notServed(error: MillraceError, url: string, folder: string | undefined): MillraceError {
  if (error.code === 'interrupted') return error;
  const { detail } = error;
  const code = OTHER_CONTENT.includes(error.code) ? 'checksum-mismatch' : error.code;
  const hint =
    folder === undefined
      ? `${url} is not the script of this manifest and these edges: publish it with "sync publish --script" and the same --edge`
      : `${url} must be ${join(folder, SCRIPT_NAME)}`;
  return new MillraceError(code, detail === '' ? hint : `${hint} (${detail})`, { cause: error });
}

/** A line for each host that is through, and on a terminal one below about those under way. */
class PushView {
  readonly #line: MovingLine;
  readonly #report: Report;
  readonly #dryRun: boolean;
  readonly #hosts: number;
  readonly #running = new Map<string, { files: number; of: number } | undefined>();
  #over = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(context: CliContext, report: Report, { dryRun }: PushOptions, hosts: number) {
    this.#line = new MovingLine(context.stdout, !report.json && context.stdout.isTTY === true);
    this.#report = report;
    this.#dryRun = dryRun === true;
    this.#hosts = hosts;
  }

  begin(): void {
    if (this.#line.isMoving) this.#timer = setInterval(() => this.#draw(), PROGRESS_MS);
  }

  onProgress(name: string, stand: { files: number; of: number } | undefined): void {
    this.#running.set(name, stand);
  }

  onOver({ target: { name }, ms, ...outcome }: HostResult): void {
    this.#over++;
    this.#running.delete(name);
    if (!this.#report.json) this.#line.say(hostLine(name, outcome, ms, this.#dryRun));
  }

  end(): void {
    clearInterval(this.#timer);
    this.#line.clear();
  }

  #draw(): void {
    this.#line.draw(printable(pushText(this.#over, this.#hosts, this.#running)));
  }
}
