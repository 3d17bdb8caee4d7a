/** `millrace edge downloads`: the downloads of an edge's files, for publishers. */

import {
  type CountPart,
  countsCsv,
  type DownloadCount,
  MAX_DAYS,
  summedBy,
} from '@millrace/shared/cdn/figures/download-table';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { EdgeLink, type EdgeOptions, edgeOptions } from '../../console/edge-link.ts';
import { UsageError } from '../../text/option-values.ts';
import { downloadsTable } from '../../view/downloads-text.ts';

interface DownloadsOptions extends EdgeOptions {
  readonly days: number;
  readonly by: CountPart;
  readonly csv?: boolean;
}

interface Downloads {
  readonly days: number;
  readonly downloads: readonly DownloadCount[];
}

export function addDownloads(parent: Command, context: CliContext): void {
  const command = parent
    .command('downloads')
    .description(
      'count the downloads of each file, begun and completed; a download is one client and one file, however many requests it takes',
    )
    .summary('count the downloads of each file')
    .option('--days <number>', `the latest days, 1 to ${MAX_DAYS}`, daysValue, 30)
    .addOption(
      new Option('--by <part>', 'what to sum by')
        .choices(['file', 'day', 'country'])
        .default('file'),
    )
    .option('--csv', 'print CSV: a line for each day, file and country');
  edgeOptions(command).action(
    action<DownloadsOptions, []>(context, async (report, options) => {
      const { days, by, csv, json } = options;
      if (csv === true && json === true)
        throw new UsageError('--csv and --json exclude each other');
      const edge = await EdgeLink.open(context, options);
      const found = await edge.ask<Downloads>('GET', `downloads?days=${days}`);
      const rows = found.downloads;
      report.result(found, () => {
        if (csv === true) return countsCsv(rows).trimEnd().split('\r\n');
        return downloadsTable(summedBy(rows, by), by, report.width);
      });
      return undefined;
    }),
  );
}

function daysValue(text: string): number {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= MAX_DAYS) return days;
  throw new InvalidArgumentError(`must be a number from 1 to ${MAX_DAYS}`);
}
