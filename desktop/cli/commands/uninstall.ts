/**
 * `millrace uninstall`: takes back what Millrace has set up for this user, and asks what becomes of
 * unfinished downloads and of the list. Finished files stay. The program itself is removed by
 * whatever has installed it.
 */

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import { Command } from 'commander';
import { runningDaemon } from '../../local/daemon-address.ts';
import { uninstallHost } from '../../native-host/install.ts';
import { BROWSERS } from '../../native-host/registration.ts';
import { action, type CliContext, type CommonOptions } from '../console/context.ts';
import { type DaemonLink, openOrStart } from '../console/daemon-link.ts';
import { confirmed, isPerson } from '../console/question.ts';
import { counted } from '../text/counted.ts';
import { endDaemon } from './daemon.ts';

interface UninstallOptions extends CommonOptions {
  readonly deleteUnfinished?: boolean;
  readonly deleteList?: boolean;
}

/** File that only a state folder has. */
const DATABASE = 'downloads.db';
const UNFINISHED = ['active', 'queued', 'waiting', 'paused', 'error'] as const;
const PAGE = 1000;

export function uninstallCommand(context: CliContext): Command {
  return new Command('uninstall')
    .description(
      'stop the daemon and unregister Millrace with browsers; asks what to delete, and keeps finished files',
    )
    .summary('take back what Millrace has set up for you')
    .option('--delete-unfinished', 'delete unfinished downloads and the trash, without asking')
    .option('--delete-list', 'delete list, history and settings, without asking')
    .option('--json', 'print one JSON document')
    .action(
      action<UninstallOptions, []>(context, async (report, options) => {
        const state = resolve(context.cwd, context.state);
        const asks = !report.json && isPerson(context);
        const ask = (given: boolean | undefined, question: string) =>
          given === true || !asks ? Promise.resolve(given === true) : confirmed(context, question);
        const hasState = existsSync(join(state, DATABASE));
        const unfinished =
          hasState && (asks || options.deleteUnfinished === true)
            ? await handleUnfinished(state, (found) =>
                ask(
                  options.deleteUnfinished,
                  `Delete ${counted(found.count, 'unfinished download')} (${formatBytes(found.bytes)}), and the trash?`,
                ),
              )
            : 0;
        const question = `Delete list, history and settings (${state})? Finished files stay.`;
        const deletesList = hasState && (await ask(options.deleteList, question));
        const around = { platform: process.platform, home: homedir(), env: process.env, state };
        // First, as a browser would start the daemon again.
        await uninstallHost(BROWSERS, { words: [], env: {} }, around);
        await endDaemon(context);
        await removeAutostart();
        if (deletesList) await removeState(state);
        const result = { deletedDownloads: unfinished, deletedList: deletesList };
        report.result(result, () => [
          'Browsers and the desktop no longer start Millrace, and the daemon has ended.',
          unfinished > 0
            ? `Deleted ${counted(unfinished, 'download')}.`
            : 'Unfinished downloads were kept.',
          deletesList ? 'List, history and settings are deleted.' : `Kept: ${state}`,
          'Finished files are where they were. Now remove the program the way you installed it.',
        ]);
        return undefined;
      }),
    );
}

/** Deletes unfinished downloads if the user wants that. @returns the number of deleted ones */
async function handleUnfinished(
  state: string,
  wants: (found: { count: number; bytes: number }) => Promise<boolean>,
): Promise<number> {
  const daemon = await openOrStart({ state }, () => {});
  try {
    const { gids, bytes } = await unfinishedOf(daemon);
    if (!(await wants({ count: gids.length, bytes }))) return 0;
    for (let at = 0; at < gids.length; at += PAGE) {
      const some = gids.slice(at, at + PAGE);
      await daemon.call('millrace.remove', { gids: some, forget: true, now: true });
    }
    await daemon.call('millrace.emptyTrash', {});
    return gids.length;
  } finally {
    daemon.close();
  }
}

async function unfinishedOf(daemon: DaemonLink): Promise<{ gids: string[]; bytes: number }> {
  const gids: string[] = [];
  let bytes = 0;
  for (let total = 1; gids.length < total; ) {
    const query = { status: UNFINISHED, offset: gids.length, limit: PAGE };
    const page = await daemon.call('millrace.list', query);
    total = page.total;
    if (page.downloads.length === 0) break;
    for (const { gid, storedBytes } of page.downloads) {
      gids.push(gid);
      bytes += storedBytes;
    }
  }
  return { gids, bytes };
}

/** The app starts with the desktop if the user has asked for that. */
async function removeAutostart(): Promise<void> {
  if (process.platform !== 'linux') return;
  const config = process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
  await rm(join(config, 'autostart', 'millrace.desktop'), { force: true });
}

/** @throws MillraceError `bad-option` for a folder that holds more than the state */
async function removeState(state: string): Promise<void> {
  const holds = (path: string) => path === state || path.startsWith(join(state, '/'));
  if (dirname(state) === state || holds(homedir()) || holds(process.cwd())) {
    throw new MillraceError('bad-option', `${state} holds other files too: delete it yourself`);
  }
  if ((await runningDaemon(state)) !== undefined) throw new MillraceError('daemon-running', state);
  await rm(state, { recursive: true, force: true });
}
