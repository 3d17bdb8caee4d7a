/** `millrace pause`, `resume` and `remove`. */

import { Command } from 'commander';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { type DaemonLink, withDaemon } from '../console/daemon-link.ts';
import { counted } from '../text/counted.ts';
import { idValue, repeated } from '../text/option-values.ts';
import { isStopped } from '../view/download-words.ts';
import { fetchAll, whichOnes } from './list.ts';

interface WhichOptions extends CommonOptions {
  readonly all?: boolean;
}
interface RemoveOptions extends WhichOptions {
  readonly keep?: boolean;
  readonly forget?: boolean;
  readonly deleteFile?: boolean;
  readonly now?: boolean;
}

type Act<O> = (
  daemon: DaemonLink,
  ids: readonly string[] | undefined,
  options: O,
) => Promise<readonly string[]>;

const ID_CHARS = 6;
const MAX_LISTED = 20;

export function pauseCommand(context: CliContext): Command {
  return onDownloads<WhichOptions>(
    context,
    'pause',
    'Paused',
    'interrupt downloads',
    changed('millrace.pause'),
  );
}

export function resumeCommand(context: CliContext): Command {
  const resume: Act<WhichOptions> = async (daemon, ids) => {
    if (ids === undefined) return changed('millrace.resume')(daemon, undefined, {});
    // A user who resumes a failed download wants it to be tried again.
    const [over, others]: [string[], string[]] = [[], []];
    for (const gid of ids) {
      const download = await daemon.call('millrace.status', { gid });
      (isStopped(download) ? over : others).push(download.gid);
    }
    const retried = over.length === 0 ? [] : await changed('millrace.retry')(daemon, over, {});
    return [
      ...retried,
      ...(others.length === 0 ? [] : await changed('millrace.resume')(daemon, others, {})),
    ];
  };
  const what = 'resume paused downloads, or try failed ones again';
  return onDownloads(context, 'resume', 'Resumed', what, resume);
}

export function removeCommand(context: CliContext): Command {
  const remove: Act<RemoveOptions> = async (daemon, ids, options) => {
    const gids =
      ids ??
      (await fetchAll(daemon, ['active', 'queued', 'waiting', 'paused'])).map(({ gid }) => gid);
    if (gids.length === 0) return [];
    const params = {
      gids,
      deletePartial: options.keep !== true,
      deleteFile: options.deleteFile ?? false,
      forget: options.forget ?? false,
      now: options.now ?? false,
    };
    return (await daemon.call('millrace.remove', params)).gids;
  };
  const what = 'move downloads and their partial data to the trash; finished files stay';
  return onDownloads<RemoveOptions>(context, 'remove', 'Removed', what, remove)
    .alias('rm')
    .option('--keep', 'keep the partial data of unfinished downloads')
    .option('--forget', 'remove from the history as well')
    .option('--delete-file', 'delete the files of finished downloads as well')
    .option('--now', 'delete for good at once, not into the trash');
}

function changed(method: 'millrace.pause' | 'millrace.resume' | 'millrace.retry'): Act<object> {
  return async (daemon, gids) =>
    // Without ids the call applies to all downloads; failed ones are retried only by id.
    (await daemon.call(method, { gids })).gids;
}

function onDownloads<O extends WhichOptions>(
  context: CliContext,
  name: string,
  done: string,
  description: string,
  act: Act<O>,
): Command {
  return new Command(name)
    .description(description)
    .argument('[id...]', 'ids, or the beginnings of them', repeated(idValue))
    .option('--all', 'all eligible downloads')
    .option('--json', 'print one JSON document')
    .action(
      action<O, [string[]]>(context, (report, options, ids) => {
        const which = whichOnes(ids, options.all);
        return withDaemon(context, async (daemon) => {
          const gids = await act(daemon, which === 'all' ? undefined : ids, options);
          show(report, done, gids);
          return undefined;
        });
      }),
    );
}

function show(report: Report, done: string, gids: readonly string[]): void {
  report.result({ gids }, () => {
    if (gids.length === 0) return ['There was nothing to do.'];
    if (gids.length > MAX_LISTED) return [`${done} ${counted(gids.length, 'download')}.`];
    return [`${done} ${gids.map((gid) => gid.slice(0, ID_CHARS)).join(', ')}.`];
  });
}
