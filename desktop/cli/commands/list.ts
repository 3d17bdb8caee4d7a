/** `millrace list` and `millrace history`: list the daemon's downloads. */

import { parseDuration } from '@millrace/shared/base/unit-options';
import type { ParamsOf } from '@millrace/shared/bridge/contract/contract';
import type { DownloadStatus, DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { Argument, Command, Option } from 'commander';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { type DaemonLink, withDaemon } from '../console/daemon-link.ts';
import { counted } from '../text/counted.ts';
import { reading, UsageError, wholeNumber } from '../text/option-values.ts';
import { downloadTable } from '../view/download-table.ts';

interface Page {
  readonly total: number;
  readonly downloads: readonly DownloadView[];
}

interface ListOptions extends CommonOptions {
  readonly search?: string;
  readonly category?: string;
  readonly limit: number;
}

const STOPPED = ['complete', 'error', 'removed'] as const;
/** States that each filter selects. The filters are named as in aria2's interface. */
const FILTERS: Readonly<Record<string, readonly DownloadStatus[] | undefined>> = {
  all: undefined,
  active: ['active'],
  waiting: ['queued', 'waiting', 'paused'],
  stopped: STOPPED,
  expired: undefined,
};
/** Most downloads that the daemon returns per call. */
const PAGE = 1000;
const most = () =>
  new Option('--limit <number>', 'most entries to show')
    .argParser(wholeNumber(1, 1_000_000))
    .default(100);

export function listCommand(context: CliContext): Command {
  return new Command('list')
    .alias('ls')
    .description('list downloads: running, waiting and finished ones')
    .summary('list downloads')
    .addArgument(
      new Argument('[filter]', 'state of the downloads')
        .choices(Object.keys(FILTERS))
        .default('all'),
    )
    .addOption(
      new Option('--search <text>', 'words in name, URL, category or error').conflicts('category'),
    )
    .option('--category <name>', 'of this category')
    .addOption(most())
    .option('--json', 'print one JSON document')
    .action(
      action<ListOptions, [string]>(context, async (report, options, filter) => {
        const status = FILTERS[filter];
        if (filter === 'expired') return listExpired(context, report, options);
        const page = await withDaemon(context, (daemon) =>
          options.search === undefined
            ? fetchPages(
                daemon,
                'millrace.list',
                { status, category: options.category },
                options.limit,
              )
            : fetchPages(
                daemon,
                'millrace.search',
                { status, text: options.search },
                options.limit,
              ),
        );
        const all = status === undefined && !options.search && !options.category;
        return show(
          report,
          page,
          all ? 'There are no downloads yet.' : 'There are no such downloads.',
        );
      }),
    );
}

/** Lists the downloads that need a new link, with the pages that their links were on. */
async function listExpired(
  context: CliContext,
  report: Report,
  { search, category, limit }: ListOptions,
): Promise<number | undefined> {
  if (search !== undefined || category !== undefined) {
    throw new UsageError('"expired" goes with neither --search nor --category');
  }
  const { downloads } = await withDaemon(context, (daemon) => daemon.call('millrace.expired', {}));
  const page = { total: downloads.length, downloads: downloads.slice(0, limit) };
  return show(report, page, 'No download needs a new link.');
}

export function historyCommand(context: CliContext): Command {
  const command = new Command('history').description('list, search and clear finished downloads');
  command
    .command('list', { isDefault: true })
    .description('list the latest finished downloads')
    .addOption(most())
    .option('--json', 'print one JSON document')
    .action(
      action<ListOptions, []>(context, async (report, { limit }) => {
        const page = await withDaemon(context, (daemon) =>
          fetchPages(daemon, 'millrace.list', { status: STOPPED }, limit),
        );
        return show(report, page, 'The history is empty.');
      }),
    );
  command
    .command('search')
    .description('search finished downloads: all words must be in name, URL, category or error')
    .argument('<word...>', 'words to search for')
    .addOption(most())
    .option('--json', 'print one JSON document')
    .action(
      action<ListOptions, [string[]]>(context, async (report, { limit }, words) => {
        const text = words.join(' ');
        const page = await withDaemon(context, (daemon) =>
          fetchPages(daemon, 'millrace.search', { status: STOPPED, text }, limit),
        );
        return show(report, page, 'Nothing in the history has these words.');
      }),
    );
  command
    .command('clear')
    .description('remove finished downloads from the history; their files stay')
    .option('--older-than <time>', 'such as 30d', reading(parseDuration))
    .option('--json', 'print one JSON document')
    .action(
      action<CommonOptions & { olderThan?: number }, []>(context, (report, { olderThan }) =>
        withDaemon(context, async (daemon) => {
          const before = olderThan === undefined ? undefined : Date.now() - olderThan;
          const result = await daemon.call('millrace.purge', { status: STOPPED, before });
          report.result(result, () => [
            `Forgot ${counted(result.count, 'download')}. "millrace trash" has them for a while.`,
          ]);
          return undefined;
        }),
      ),
    );
  return command;
}

/** Returns all downloads in some states, for commands that apply to all of them. */
export async function fetchAll(
  daemon: DaemonLink,
  status: readonly DownloadStatus[],
): Promise<readonly DownloadView[]> {
  return (await fetchPages(daemon, 'millrace.list', { status }, Number.POSITIVE_INFINITY))
    .downloads;
}

async function fetchPages<M extends 'millrace.list' | 'millrace.search'>(
  daemon: DaemonLink,
  method: M,
  params: ParamsOf<M>,
  most: number,
): Promise<Page> {
  const downloads: DownloadView[] = [];
  for (;;) {
    const limit = Math.min(PAGE, most - downloads.length);
    const page = await daemon.call<'millrace.list' | 'millrace.search'>(method, {
      ...params,
      offset: downloads.length,
      limit,
    });
    downloads.push(...page.downloads);
    const { total } = page;
    if (page.downloads.length < limit || downloads.length >= most) return { total, downloads };
  }
}

function show(report: Report, { total, downloads }: Page, none: string): undefined {
  report.result({ total, downloads }, () => {
    if (downloads.length === 0) return [none];
    const { width, style } = report;
    const lines = downloadTable(downloads, { now: Date.now(), width, style });
    const more = total - downloads.length;
    if (more > 0) lines.push(style('quiet', `and ${more} more (--limit)`));
    return lines;
  });
}

/** Tells whether ids or --all were given. @throws UsageError unless exactly one was */
export function whichOnes(ids: readonly string[], all: boolean | undefined): 'all' | 'ids' {
  if (all === true && ids.length > 0) {
    throw new UsageError('give ids or --all, not both');
  }
  if (all !== true && ids.length === 0) {
    throw new UsageError('give ids, as "millrace list" shows them, or --all');
  }
  return all === true ? 'all' : 'ids';
}
