/** `millrace change` and `url`: what can be changed of a download that is there. */

import { resolve } from 'node:path';
import type { DownloadView } from '@millrace/shared/bridge/daemon-api';
import { Command } from 'commander';
import { action, type CliContext, type CommonOptions } from '../context.ts';
import { withDaemon } from '../daemon-link.ts';
import {
  headerValue,
  idValue,
  noneAsNull,
  rateOrNone,
  repeated,
  UsageError,
  urlValue,
  wholeNumber,
} from '../option-values.ts';
import { changeLine } from '../view/watch-model.ts';

interface ChangeOptions extends CommonOptions {
  readonly priority?: number;
  readonly position?: number;
  readonly limit?: number | 'none';
  readonly category?: string;
  readonly connections?: number;
  readonly header?: readonly (readonly [string, string])[];
  readonly proxy?: string;
  readonly output?: string;
  readonly dir?: string;
}

export function changeCommand(context: CliContext): Command {
  return new Command('change')
    .description('change a download: place, limit, folder, how it is fetched')
    .argument('<id>', 'its id, or the beginning of it', idValue)
    .option('--priority <number>', 'higher ones first, -100 to 100', wholeNumber(-100, 100))
    .option('--position <number>', 'place in the queue, from 0', wholeNumber(0, 100_000))
    .option('--limit <rate>', 'bytes per second; "none"', rateOrNone)
    .option('--category <name>', 'category')
    .option('--connections <number>', 'requests at a time, 1 to 32', wholeNumber(1, 32))
    .option(
      '--header <field>',
      '"Name: value" for the origins, in place of those before; may be repeated',
      repeated(headerValue),
    )
    .option('--proxy <url>', 'proxy; "direct" for none')
    .option('-o, --output <file>', 'name of the file')
    .option('-d, --dir <folder>', 'folder to save in')
    .option('--json', 'print one JSON document')
    .action(
      action<ChangeOptions, [string]>(context, (report, options, id) => {
        const { position, json: _, header, output, dir, limit, ...others } = options;
        const changes = {
          ...others,
          ...(limit === undefined ? {} : { limit: noneAsNull(limit) }),
          ...(header === undefined ? {} : { headers: Object.fromEntries(header) }),
          ...(output === undefined ? {} : { file: output }),
          ...(dir === undefined ? {} : { dir: resolve(context.cwd, dir) }),
        };
        if (position === undefined && Object.keys(changes).length === 0) {
          throw new UsageError('say what to change');
        }
        return withDaemon(context.state, async (daemon) => {
          const { gid } = await daemon.call<DownloadView>('status', { gid: id });
          if (Object.keys(changes).length > 0) await daemon.call('change', { gid, ...changes });
          if (position !== undefined) await daemon.call('move', { gid, position });
          const download = await daemon.call<DownloadView>('status', { gid });
          report.result(download, () => [changeLine(download, Date.now())]);
          return undefined;
        });
      }),
    );
}

export function urlCommand(context: CliContext): Command {
  return new Command('url')
    .description('give a download a new link in place of one that has expired')
    .argument('<id>', 'its id, or the beginning of it', idValue)
    .argument('<url>', 'of the same file: it is checked before anything is used', (text: string) =>
      urlValue(text),
    )
    .option('--add', 'as one more source, beside those that there are')
    .option('--json', 'print one JSON document')
    .action(
      action<CommonOptions & { add?: boolean }, [string, string]>(
        context,
        (report, { add }, gid, url) =>
          withDaemon(context.state, async (daemon) => {
            await daemon.call(add === true ? 'addUrl' : 'replaceUrl', { gid, url });
            const download = await daemon.call<DownloadView>('status', { gid });
            report.result(download, () => [changeLine(download, Date.now())]);
            return undefined;
          }),
      ),
    );
}
