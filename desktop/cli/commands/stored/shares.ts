/** `millrace shares`: lists the files that the app has sent. */

import { Command } from 'commander';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { withDaemon } from '../../console/daemon-link.ts';
import { shareLines } from '../../view/share-text.ts';

export function sharesCommand(context: CliContext): Command {
  return new Command('shares')
    .description('list the files that the app has sent: name, size, end, state and link')
    .summary('list the files that the app has sent')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
These are the files of "Send a file" in the app. What "millrace upload" has stored is
not among them: its exNode has that, see "millrace stat".`,
    )
    .action(
      action<CommonOptions, []>(context, async (report) => {
        const result = await withDaemon(context, (daemon) => daemon.call('millrace.shares'));
        report.result(result, () => shareLines(result.shares));
        return undefined;
      }),
    );
}
