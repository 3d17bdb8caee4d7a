/** `millrace add`: gives downloads to the daemon, starting it where none runs. */

import { asMillraceError, EXIT } from '@millrace/shared/base/errors';
import type { DownloadView } from '@millrace/shared/bridge/daemon-api';
import { Command } from 'commander';
import { withoutLogin } from '../../engine/net/credentials.ts';
import { downloadUrl, refuseOneFileOptions, requestOf } from '../asked-request.ts';
import {
  action,
  type CliContext,
  type CommonOptions,
  errorObject,
  type Report,
} from '../context.ts';
import { DaemonLink, openOrStart } from '../daemon-link.ts';
import { logFile } from '../daemon-process.ts';
import { readMetalink } from '../fetch-metalink.ts';
import { looksLikeMetalinkName } from '../metalink-name.ts';
import { repeated, UsageError } from '../option-values.ts';
import {
  addQueueOptions,
  addRequestOptions,
  type QueueOptions,
  type RequestOptions,
} from '../request-options.ts';
import { changeLine } from '../view/watch-model.ts';

interface AddOptions extends RequestOptions, QueueOptions, CommonOptions {
  readonly metalink?: readonly string[];
  readonly paused?: boolean;
  readonly start: boolean;
}

/** One thing to add: a URL, or a metalink, which may be several downloads. */
type Item =
  | { readonly kind: 'url'; readonly given: string }
  | { readonly kind: 'metalink'; readonly given: string };

export function addCommand(context: CliContext): Command {
  const command = addRequestOptions(
    new Command('add')
      .description('give downloads to the daemon, which is started if need be')
      .summary('add downloads to the queue')
      .argument('[url-or-file...]', 'URLs; of *.meta4 and *.metalink, files as well'),
    'the category\u2019s, in that of the daemon',
  );
  return addQueueOptions(command)
    .option(
      '--metalink <file or url>',
      'what the metalink describes; may be repeated',
      repeated((text) => text),
    )
    .option('--paused', 'wait for "resume"')
    .option('--no-start', 'do not start a daemon if none runs')
    .option('--json', 'print one JSON document')
    .action(
      action<AddOptions, [string[]]>(context, (report, options, urls) =>
        add(context, report, options, urls),
      ),
    );
}

async function add(
  context: CliContext,
  report: Report,
  options: AddOptions,
  urls: readonly string[],
): Promise<number> {
  const items = itemsOf(urls, options);
  const { state } = context;
  const daemon = options.start
    ? await openOrStart(state, (pid) =>
        report.note(`Started a daemon (process ${pid}; its log: ${logFile(state)})`),
      )
    : await DaemonLink.open(state);
  const added: DownloadView[] = [];
  const failed: object[] = [];
  let status: number = EXIT.ok;
  try {
    for (const item of items) {
      try {
        for (const gid of await addOne(daemon, item, options, context)) {
          added.push(await daemon.call<DownloadView>('status', { gid }));
        }
      } catch (thrown) {
        // The next may be fine.
        const error = asMillraceError(thrown);
        if (status === EXIT.ok) status = error.row.exit;
        const url = withoutLogin(item.given);
        failed.push({ url, ...errorObject(error) });
        if (!report.json) report.error(error, url);
      }
    }
  } finally {
    daemon.close();
  }
  report.result({ added, failed }, () => added.map((d) => changeLine(d, Date.now())));
  return status;
}

function itemsOf(urls: readonly string[], options: AddOptions): Item[] {
  const items: Item[] = [
    ...urls.map(
      (given) => ({ kind: looksLikeMetalinkName(given) ? 'metalink' : 'url', given }) as const,
    ),
    ...(options.metalink ?? []).map((given) => ({ kind: 'metalink', given }) as const),
  ];
  if (items.length === 0) throw new UsageError('there is nothing to add');
  const one = items.length === 1 && items[0]?.kind === 'url';
  if (!one) refuseOneFileOptions(options);
  return items;
}

async function addOne(
  daemon: DaemonLink,
  item: Item,
  options: AddOptions,
  { cwd, signal }: CliContext,
): Promise<readonly string[]> {
  const { priority, position, category, paused } = options;
  const place = { priority, position, category, paused };
  if (item.kind === 'url') {
    const request = requestOf(downloadUrl(item.given), options, cwd);
    return [(await daemon.call<{ gid: string }>('add', { ...request, ...place })).gid];
  }
  const { urls: _, ...request } = requestOf('', options, cwd);
  const metalink = (await readMetalink(item.given, cwd, signal)).toString('base64');
  const params = { ...request, ...place, metalink };
  return (await daemon.call<{ gids: string[] }>('addMetalink', params)).gids;
}
