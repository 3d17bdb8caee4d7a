/** `millrace open`: opens the interface in the browser, logged in. */

import { pathToFileURL } from 'node:url';
import { Command } from 'commander';
import { canOpen, openInBrowser } from '../../local/browser.ts';
import { logFile } from '../../local/daemon-launch.ts';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { openOrStart } from '../console/daemon-link.ts';

interface OpenOptions extends CommonOptions {
  readonly print?: boolean;
}

export function openCommand(context: CliContext): Command {
  return new Command('open')
    .description('open the interface in your browser; starts the daemon if none runs')
    .option('--print', 'only print the address; it works once, for a minute')
    .option('--json', 'print one JSON document')
    .action(
      action<OpenOptions, []>(context, (report, options) => openPage(context, report, options)),
    );
}

async function openPage(
  { state }: CliContext,
  report: Report,
  { print, json }: OpenOptions,
): Promise<undefined> {
  const daemon = await openOrStart({ state }, (pid) =>
    report.note(`Started a daemon (process ${pid}; its log: ${logFile(state)})`),
  );
  try {
    if (print !== true && json !== true && canOpen()) {
      // All users of this machine can read command lines: the browser gets a file with the code.
      const { path } = await daemon.call('millrace.loginPage');
      if (await openInBrowser(pathToFileURL(path).href)) {
        report.note('Opened in your browser.');
        return;
      }
    }
    const { url } = await daemon.call('millrace.loginLink');
    report.result({ url }, () => [url]);
    report.note('Open this address within a minute; it works once.');
  } finally {
    daemon.close();
  }
}
