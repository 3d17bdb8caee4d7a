/** `millrace watch`: shows the daemon's activity live. */

import { asMillraceError, EXIT, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { Command } from 'commander';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { type DaemonLink, withDaemon } from '../console/daemon-link.ts';
import { LiveArea } from '../text/live-area.ts';
import { idValue, repeated } from '../text/option-values.ts';
import { printable } from '../text/printable.ts';
import { WatchModel } from '../view/watch-model.ts';
import { fetchAll } from './list.ts';

interface WatchOptions extends CommonOptions {
  readonly untilDone?: boolean;
}

const PROGRESS_MS = 500;
/** Interval of full refreshes, ms: a notification may have been lost. */
const REFRESH_MS = 10_000;
const RECENT = 10;
const STRIP_CELLS = 16;
const MAX_STRIPS = 20;

export function watchCommand(context: CliContext): Command {
  return new Command('watch')
    .description('watch downloads live: a table, or one line per change when written to a file')
    .summary('watch downloads')
    .argument('[id...]', 'which; none: all', repeated(idValue))
    .option(
      '--until-done',
      'end when none of them continues; the exit status is that of the latest failure shown',
    )
    .option('--json', 'print one JSON object per line')
    .action(
      action<WatchOptions, [string[]]>(context, (report, options, ids) =>
        withDaemon(context, (daemon) =>
          new Watch(context, report, daemon, options.untilDone === true).run(ids),
        ),
      ),
    );
}

class Watch {
  readonly #context: CliContext;
  readonly #report: Report;
  readonly #daemon: DaemonLink;
  readonly #untilDone: boolean;
  readonly #area: LiveArea | undefined;
  readonly #over = Promise.withResolvers<void>();
  readonly #strips = new Map<string, readonly number[]>();
  #model = new WatchModel();
  #limit: number | undefined;

  constructor(context: CliContext, report: Report, daemon: DaemonLink, untilDone: boolean) {
    this.#context = context;
    this.#report = report;
    this.#daemon = daemon;
    this.#untilDone = untilDone;
    const live = context.stdout.isTTY === true && !report.json;
    this.#area = live ? new LiveArea(context.stdout) : undefined;
  }

  async run(ids: readonly string[]): Promise<number> {
    const { signal } = this.#context;
    const stop = () => this.#over.resolve();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const gids = ids.length === 0 ? undefined : await this.#resolve(ids);
    this.#model = new WatchModel(gids);
    // Notifications that arrive before the list are applied after it.
    const early: [string, readonly unknown[]][] = [];
    let listener = (method: string, params: readonly unknown[]): void => {
      early.push([method, params]);
    };
    this.#daemon.onNotification((method, params) => listener(method, params));
    await this.#daemon.call('millrace.subscribe', { progressMs: PROGRESS_MS, gids });
    await this.#refresh(gids);
    listener = (method, params) => this.#notified(method, params);
    for (const [method, params] of early) listener(method, params);
    const gone = this.#daemon.closed.then(() => {
      this.#over.reject(new MillraceError('daemon-not-running', 'the daemon has ended'));
    });
    gone.catch(() => {});
    const timers = [
      setInterval(() => this.#background(() => this.#refresh(gids)), REFRESH_MS),
      setInterval(() => this.#background(() => this.#draw()), PROGRESS_MS),
    ];
    this.#background(() => this.#draw());
    try {
      this.#checkOver();
      await this.#over.promise;
      await this.#draw();
    } finally {
      for (const timer of timers) clearInterval(timer);
      this.#area?.leave();
    }
    return this.#exitStatus();
  }

  async #resolve(ids: readonly string[]): Promise<string[]> {
    const views = ids.map((gid) => this.#daemon.call('millrace.status', { gid }));
    return (await Promise.all(views)).map(({ gid }) => gid);
  }

  /** Reads the watched downloads; without ids, all unfinished ones and the latest finished ones. */
  async #refresh(gids: readonly string[] | undefined): Promise<void> {
    const calls = gids?.map((gid) => this.#daemon.call('millrace.status', { gid }));
    const downloads = calls === undefined ? await this.#everything() : await Promise.all(calls);
    for (const download of downloads) this.#apply(download);
    const { limit } = await this.#daemon.call('millrace.getLimits');
    this.#limit = limit;
  }

  async #everything(): Promise<readonly DownloadView[]> {
    const unfinished = await fetchAll(this.#daemon, ['active', 'queued', 'waiting', 'paused']);
    const recent = await this.#daemon.call('millrace.list', {
      status: ['complete', 'error'],
      limit: RECENT,
    });
    return [...unfinished, ...recent.downloads];
  }

  #notified(method: string, [params]: readonly unknown[]): void {
    const { json } = this.#report;
    switch (method) {
      case 'millrace.onChange': {
        this.#apply((params as { download: DownloadView }).download);
        break;
      }
      case 'millrace.onProgress': {
        const { downloads } = params as { downloads: DownloadView[] };
        if (json) this.#report.object({ event: 'progress', downloads });
        for (const download of downloads) this.#apply(download);
        break;
      }
      case 'millrace.onNote': {
        const { gid, text } = params as { gid: string; text: string };
        if (json) this.#report.object({ event: 'note', gid, text });
        else if (this.#area === undefined) this.#line(`${gid.slice(0, 6)} note: ${text}`);
        break;
      }
      case 'millrace.onForget': {
        const { gids } = params as { gids: string[] };
        if (json) this.#report.object({ event: 'forget', gids });
        for (const gid of gids) this.#model.forget(gid);
        break;
      }
    }
    this.#checkOver();
  }

  #apply(download: DownloadView): void {
    const line = this.#model.apply(download, Date.now());
    if (line === undefined) return;
    if (this.#report.json) this.#report.object({ event: 'change', download });
    else if (this.#area === undefined) this.#line(line);
  }

  #line(text: string): void {
    const time = new Date().toISOString().slice(0, 19).replace('T', ' ');
    this.#context.stdout.write(`${time} ${printable(text)}\n`);
  }

  async #draw(): Promise<void> {
    if (this.#area === undefined) return;
    const active = this.#model.downloads.filter(({ status }) => status === 'active');
    for (const { gid } of active.slice(0, MAX_STRIPS)) {
      const params = { gid, cells: STRIP_CELLS };
      const { cells } = await this.#daemon.call('millrace.strip', params);
      this.#strips.set(gid, cells);
    }
    const shown = new Set(active.map(({ gid }) => gid));
    for (const gid of this.#strips.keys()) if (!shown.has(gid)) this.#strips.delete(gid);
    const { width, style } = this.#report;
    const options = { now: Date.now(), width, style, strips: this.#strips };
    this.#area.draw(this.#model.frame(this.#area.rows, this.#limit, options));
  }

  /** Runs work and ignores its failures: `run` notices when the daemon has ended. */
  #background(work: () => Promise<void>): void {
    work().catch(() => {});
  }

  #checkOver(): void {
    if (this.#untilDone && this.#model.isOver) this.#over.resolve();
  }

  #exitStatus(): number {
    if (!this.#untilDone) return EXIT.ok;
    if (this.#context.signal.aborted) throw new MillraceError('interrupted');
    const failed = this.#model.downloads.find(({ status }) => status === 'error');
    if (failed === undefined) return EXIT.ok;
    const code = failed.error?.code as ConstructorParameters<typeof MillraceError>[0] | undefined;
    return code === undefined ? EXIT.unexpected : exitOf(code);
  }
}

function exitOf(code: ConstructorParameters<typeof MillraceError>[0]): number {
  // A daemon of another version may have codes that are not in the table.
  return asMillraceError(new MillraceError(code)).row?.exit ?? EXIT.unexpected;
}
