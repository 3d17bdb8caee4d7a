/** `millrace change` and `url`: changes to an existing download. */

import type { AfterChoice } from '@millrace/shared/download/after/after';
import { Command } from 'commander';
import { action, type CliContext, type CommonOptions } from '../console/context.ts';
import { folderFor, withDaemon } from '../console/daemon-link.ts';
import { requestOf } from '../options/asked-request.ts';
import {
  addQueueOptions,
  type QueueOptions,
  type RequestOptions,
  requestOption,
} from '../options/request-options.ts';
import { changedThen, SETTINGS, THEN_WORDS } from '../options/then-option.ts';
import { idValue, noneAsNull, rateOrNone, UsageError, urlValue } from '../text/option-values.ts';
import { changeLine } from '../view/watch-model.ts';

type Changeable = (typeof CHANGEABLE)[number];
interface ChangeOptions extends Pick<RequestOptions, Changeable>, QueueOptions, CommonOptions {
  readonly limit?: number | 'none';
  readonly then?: AfterChoice | typeof SETTINGS;
}

/** Options of a download that can be changed; its limit is apart, as it also accepts "none". */
const CHANGEABLE = [
  'output',
  'dir',
  'connections',
  'connectionsPerHost',
  'checksum',
  'header',
  'proxy',
  'timeout',
] as const satisfies readonly (keyof RequestOptions)[];

export function changeCommand(context: CliContext): Command {
  const command = addQueueOptions(
    new Command('change')
      .description('change a download: its place, limit, folder, connections, or what follows it')
      .summary('change a download')
      .argument('<id>', 'its id, or the beginning of it', idValue)
      .option('--limit <rate>', 'bytes per second, such as 500K or 2MiB/s; "none"', rateOrNone),
  );
  for (const name of CHANGEABLE) command.addOption(requestOption(name));
  return command
    .option(
      '--then <action>',
      `when it is complete: ${THEN_WORDS}; "${SETTINGS}" as the settings say; may be repeated`,
      changedThen,
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      '\nEach value given here replaces the earlier one. Header fields and checksums are replaced as a whole.',
    )
    .action(
      action<ChangeOptions, [string]>(context, (report, options, id) => {
        const { position, priority, category, limit, then, ...others } = options;
        const { urls: _, ...asked } = requestOf('', others, folderFor(context));
        const changes = {
          ...asked,
          ...(priority === undefined ? {} : { priority }),
          ...(category === undefined ? {} : { category }),
          ...(limit === undefined ? {} : { limit: noneAsNull(limit) }),
          ...(then === undefined ? {} : { after: then === SETTINGS ? null : then }),
        };
        if (position === undefined && Object.keys(changes).length === 0) {
          throw new UsageError('say what to change');
        }
        return withDaemon(context, async (daemon) => {
          const { gid } = await daemon.call('millrace.status', { gid: id });
          if (Object.keys(changes).length > 0)
            await daemon.call('millrace.change', { gid, ...changes });
          if (position !== undefined) await daemon.call('millrace.move', { gid, position });
          const download = await daemon.call('millrace.status', { gid });
          report.result(download, () => [changeLine(download, Date.now())]);
          return undefined;
        });
      }),
    );
}

export function urlCommand(context: CliContext): Command {
  return new Command('url')
    .description('give a download a new link in place of one that has expired')
    .summary('give a download a new link')
    .argument('<id>', 'its id, or the beginning of it', idValue)
    .argument(
      '<url>',
      'URL of the same file; Millrace compares it with the stored bytes first',
      (text: string) => urlValue(text),
    )
    .option('--add', 'add the URL as one more source instead')
    .option('--json', 'print one JSON document')
    .action(
      action<CommonOptions & { add?: boolean }, [string, string]>(
        context,
        (report, { add }, gid, url) =>
          withDaemon(context, async (daemon) => {
            await daemon.call(add === true ? 'millrace.addUrl' : 'millrace.replaceUrl', {
              gid,
              url,
            });
            const download = await daemon.call('millrace.status', { gid });
            report.result(download, () => [changeLine(download, Date.now())]);
            return undefined;
          }),
      ),
    );
}
