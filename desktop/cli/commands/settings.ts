/** `millrace limit`, `schedule` and `categories`: how much to download, when, and where to. */

import { formatRate } from '@millrace/shared/base/units';
import {
  type CategoryView,
  type LearnedLimits,
  MAX_CONCURRENT,
  type ScheduleView,
  type WindowView,
} from '@millrace/shared/bridge/rpc/settings-api';
import { Argument, Command } from 'commander';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { withDaemon } from '../console/daemon-link.ts';
import { counted } from '../text/counted.ts';
import {
  countOrNone,
  noneAsNull,
  rateOrNone,
  UsageError,
  wholeNumber,
} from '../text/option-values.ts';
import { printable } from '../text/printable.ts';
import { table } from '../text/table.ts';
import { formatWindow, nowText, parseWindow } from '../view/schedule-text.ts';

interface LimitOptions extends CommonOptions {
  readonly concurrent?: number;
  readonly perHost?: number | 'none';
  readonly forgetHosts?: boolean;
}

const JSON_OPTION = ['--json', 'print one JSON document'] as const;

export function limitCommand(context: CliContext): Command {
  return new Command('limit')
    .description('show or set the limits of all downloads together')
    .summary('show or set limits for all')
    .addArgument(
      new Argument('[rate]', 'bytes per second, such as 2MiB/s; "none"').argParser(rateOrNone),
    )
    .option('--concurrent <number>', 'downloads at a time', wholeNumber(1, MAX_CONCURRENT))
    .option('--per-host <number>', 'downloads from one host; "none"', countOrNone(MAX_CONCURRENT))
    .option('--forget-hosts', 'forget the learned limits of hosts')
    .option(...JSON_OPTION)
    .action(
      action<LimitOptions, [number | 'none' | undefined]>(context, (report, options, limit) =>
        withDaemon(context, async (daemon) => {
          const { concurrent, perHost, forgetHosts } = options;
          const changes = {
            limit: noneAsNull(limit),
            perHost: noneAsNull(perHost),
            concurrent,
            forgetHosts,
          };
          const isChange = Object.values(changes).some((value) => value !== undefined);
          const limits = isChange
            ? await daemon.call('millrace.setLimits', changes)
            : await daemon.call('millrace.getLimits');
          report.result(limits, () => limitLines(limits));
          return undefined;
        }),
      ),
    );
}

function limitLines({ limit, concurrent, perHost, hosts }: LearnedLimits): string[] {
  return [
    `all together    ${limit === undefined ? 'no limit' : formatRate(limit)}`,
    `at a time       ${concurrent}`,
    `from one host   ${perHost ?? 'no limit'}`,
    ...hosts.map(
      (h) => `${printable(h.host)}: ${counted(h.limit, 'request')} at a time, as learned`,
    ),
  ];
}

export function scheduleCommand(context: CliContext): Command {
  const command = new Command('schedule').description(
    'show or set when downloads wait or are slowed down',
  );
  const set = (report: Report, windows: readonly WindowView[]) =>
    withDaemon(context, async (daemon) => {
      showSchedule(report, await daemon.call('millrace.setSchedule', { windows }));
      return undefined;
    });
  command
    .command('show', { isDefault: true })
    .description('show when downloads wait or are slowed down')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, []>(context, (report) =>
        withDaemon(context, async (daemon) => {
          showSchedule(report, await daemon.call('millrace.getSchedule'));
          return undefined;
        }),
      ),
    );
  command
    .command('set')
    .description('replace the schedule')
    .argument('<window...>', '"mon-fri 08:00-18:00 2MiB/s", "daily 22:00-06:00 pause"')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string[]]>(context, (report, _options, texts) =>
        set(report, texts.map(parseWindow)),
      ),
    );
  command
    .command('clear')
    .description('remove the schedule: downloads run at any time')
    .option(...JSON_OPTION)
    .action(action<CommonOptions, []>(context, (report) => set(report, [])));
  return command;
}

function showSchedule(report: Report, schedule: ScheduleView): void {
  report.result(schedule, () => {
    const { windows } = schedule;
    if (windows.length === 0) return ['There is no schedule: downloads run at any time.'];
    return [...windows.map(formatWindow), `Now ${nowText(schedule)}.`];
  });
}

export function categoriesCommand(context: CliContext): Command {
  const command = new Command('categories').description('choose folders by kind of file');
  const change = (report: Report, edit: (categories: CategoryView[]) => CategoryView[]) =>
    withDaemon(context, async (daemon) => {
      const { categories } = await daemon.call('millrace.getCategories');
      const params = { categories: edit([...categories]) };
      showCategories(report, await daemon.call('millrace.setCategories', params));
      return undefined;
    });
  command
    .command('list', { isDefault: true })
    .description('list the categories: their folders and kinds of file')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, []>(context, (report) =>
        withDaemon(context, async (daemon) => {
          showCategories(report, await daemon.call('millrace.getCategories'));
          return undefined;
        }),
      ),
    );
  command
    .command('set')
    .description('add a category, or replace the one of this name')
    .argument('<name>')
    .argument('<folder>', 'in the folder of the daemon, or absolute')
    .argument('<extension...>', 'such as iso zip')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string, string, string[]]>(
        context,
        (report, _options, name, folder, extensions) => {
          const plain = extensions.map((text) => text.replace(/^\./, '').toLowerCase());
          const category = { name, folder, extensions: plain };
          return change(report, (all) => [...all.filter((c) => c.name !== name), category]);
        },
      ),
    );
  command
    .command('remove')
    .description('remove a category; its folder and files stay')
    .argument('<name>')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string]>(context, (report, _options, name) =>
        change(report, (all) => {
          const others = all.filter((c) => c.name !== name);
          if (others.length < all.length) return others;
          throw new UsageError(`there is no category "${name}"`);
        }),
      ),
    );
  return command;
}

function showCategories(report: Report, document: { categories: readonly CategoryView[] }): void {
  report.result(document, () => {
    const rows = document.categories.map((c) => [
      printable(c.name),
      printable(c.folder),
      printable(c.extensions.join(' ')),
    ]);
    if (rows.length === 0) return ['There are no categories.'];
    const columns = [
      { title: 'NAME' },
      { title: 'FOLDER' },
      { title: 'FILES', cut: 'end' },
    ] as const;
    return table(columns, rows, report.width);
  });
}
