/** `millrace trash`: lists removed downloads, brings them back, or deletes them for good. */

import { formatBytes } from '@millrace/shared/base/units';
import type { TrashItem, TrashPage } from '@millrace/shared/bridge/rpc/trash-api';
import { Command } from 'commander';
import { action, type CliContext, type CommonOptions } from '../console/context.ts';
import { type DaemonLink, withDaemon } from '../console/daemon-link.ts';
import { counted } from '../text/counted.ts';
import { idValue, repeated, UsageError } from '../text/option-values.ts';
import { table } from '../text/table.ts';
import { ago, shortIdChars } from '../view/download-words.ts';

interface WhichOptions extends CommonOptions {
  readonly all?: boolean;
  readonly last?: boolean;
}

const PAGE = 1000;
const DAY_MS = 24 * 3600_000;
const KEPT = { partial: 'partial data', file: 'file', entry: 'entry only' } as const;

export function trashCommand(context: CliContext): Command {
  const command = new Command('trash').description(
    'show removed downloads, bring them back, or delete them for good',
  );
  command
    .command('list', { isDefault: true })
    .description('show removed downloads, newest first')
    .option('--json', 'print one JSON document')
    .action(
      action<CommonOptions, []>(context, (report) =>
        withDaemon(context, async (daemon) => {
          const all = await readAll(daemon);
          report.result(all, () => linesOf(all, Date.now(), report.width));
          return undefined;
        }),
      ),
    );
  command
    .command('restore')
    .description('bring removed downloads back, with their data')
    .argument('[id...]', 'ids, or the beginnings of them', repeated(idValue))
    .option('--last', 'the last removal')
    .option('--json', 'print one JSON document')
    .action(
      action<WhichOptions, [string[]]>(context, (report, { last }, ids) => {
        if ((ids.length === 0) !== (last === true)) throw new UsageError('either ids or --last');
        return withDaemon(context, async (daemon) => {
          const result =
            last === true
              ? await daemon.call('millrace.undoRemove', {})
              : await daemon.call('millrace.restoreTrash', { gids: ids });
          report.result(result, () => [`Restored ${counted(result.gids.length, 'download')}.`]);
          return undefined;
        });
      }),
    );
  command
    .command('empty')
    .description('delete removed downloads and their data for good')
    .argument('[id...]', 'ids, or the beginnings of them', repeated(idValue))
    .option('--all', 'everything in the trash')
    .option('--json', 'print one JSON document')
    .action(
      action<WhichOptions, [string[]]>(context, (report, { all }, ids) => {
        if ((ids.length === 0) !== (all === true)) throw new UsageError('either ids or --all');
        return withDaemon(context, async (daemon) => {
          const gids = all === true ? {} : { gids: ids };
          const result = await daemon.call('millrace.emptyTrash', gids);
          report.result(result, () => [
            `Deleted ${counted(result.count, 'download')} for good (${formatBytes(result.bytes)}).`,
          ]);
          return undefined;
        });
      }),
    );
  return command;
}

async function readAll(daemon: DaemonLink): Promise<TrashPage> {
  const items: TrashItem[] = [];
  for (;;) {
    const page = await daemon.call('millrace.trash', { offset: items.length, limit: PAGE });
    items.push(...page.items);
    if (page.items.length < PAGE) return { ...page, items };
  }
}

function linesOf({ items, bytes }: TrashPage, now: number, width: number | undefined): string[] {
  if (items.length === 0) return ['The trash is empty.'];
  const chars = shortIdChars(items.map(({ gid }) => gid));
  const rows = items.map((item) => [
    item.gid.slice(0, chars),
    item.name,
    item.bytes === 0 ? '' : formatBytes(item.bytes),
    KEPT[item.kept],
    ago(now - item.removedAt),
    `${Math.max(0, Math.ceil((item.expiresAt - now) / DAY_MS))} d`,
  ]);
  const columns = [
    { title: 'id' },
    { title: 'name', cut: 'middle' as const, min: 12 },
    { title: 'size', align: 'right' as const },
    { title: 'kept' },
    { title: 'removed', drop: 1 },
    { title: 'left', align: 'right' as const },
  ];
  return [
    ...table(columns, rows, width),
    `${counted(items.length, 'download')}, ${formatBytes(bytes)} on disk`,
  ];
}
