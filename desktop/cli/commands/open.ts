/**
 * `millrace open`: opens the interface in the browser, logged in. Desktops run it for `millrace:`
 * links, which the page offers, and for files that describe downloads, which are added paused.
 */

import { pathToFileURL } from 'node:url';
import { asMillraceError, EXIT } from '@millrace/shared/base/errors';
import { readArguments } from '@millrace/shared/bridge/page/outside-links';
import { MAX_OFFERED_URLS, withOffered } from '@millrace/shared/bridge/page/session-api';
import { Command } from 'commander';
import { canOpen, openInBrowser } from '../../local/browser.ts';
import { logFile } from '../../local/daemon-launch.ts';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { openOrStart } from '../console/daemon-link.ts';
import { UsageError } from '../text/option-values.ts';
import { addPaused } from './add.ts';

interface OpenOptions extends CommonOptions {
  readonly print?: boolean;
}

export function openCommand(context: CliContext): Command {
  return new Command('open')
    .description('open the interface in your browser; starts the daemon if none runs')
    .argument(
      '[link-or-file...]',
      'millrace: links and URLs, which the page offers for download; Metalink files and exNodes, which are added paused',
    )
    .option('--print', 'only print the address; it works once, for a minute')
    .option('--json', 'print one JSON document')
    .action(
      action<OpenOptions, [string[]]>(context, (report, options, given) =>
        openPage(context, report, options, given),
      ),
    );
}

async function openPage(
  context: CliContext,
  report: Report,
  { print, json }: OpenOptions,
  given: readonly string[],
): Promise<number> {
  const { state } = context;
  const { urls: found, files } = readArguments(given);
  if (given.length > 0 && found.length + files.length === 0) {
    throw new UsageError('there is no link or file to open');
  }
  const urls = found.slice(0, MAX_OFFERED_URLS);
  let status: number = EXIT.ok;
  const daemon = await openOrStart({ state }, (pid) =>
    report.note(`Started a daemon (process ${pid}; its log: ${logFile(state)})`),
  );
  try {
    for (const file of files) {
      try {
        await addPaused(daemon, file, context);
      } catch (thrown) {
        // The page opens all the same, with what could be added.
        const error = asMillraceError(thrown);
        if (status === EXIT.ok) status = error.row.exit;
        report.error(error, file);
      }
    }
    if (print !== true && json !== true && canOpen()) {
      // All users of this machine can read command lines: the browser gets a file with the code.
      const { path } = await daemon.call(
        'millrace.loginPage',
        // A daemon of an earlier version, which may still run, knows no links.
        urls.length > 0 ? { urls } : {},
      );
      if (await openInBrowser(pathToFileURL(path).href)) {
        report.note('Opened in your browser.');
        return status;
      }
    }
    const url = withOffered((await daemon.call('millrace.loginLink')).url, urls);
    report.result({ url }, () => [url]);
    report.note('Open this address within a minute; it works once.');
    return status;
  } finally {
    daemon.close();
  }
}
