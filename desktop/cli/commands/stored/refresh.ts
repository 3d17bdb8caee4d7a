/** `millrace refresh`: extends the leases of a stored file. */

import { parseDuration } from '@millrace/shared/base/unit-options';
import { Command } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { reading } from '../../text/option-values.ts';
import type { RefreshOptions } from './refresh-run.ts';

export function refreshCommand(context: CliContext): Command {
  return new Command('refresh')
    .description('extend the leases of a stored file: all end the given time from now')
    .summary('extend the leases of a stored file')
    .argument(
      '<exnode>',
      'your exNode of the file (*.exnode), or the address that manages a single file',
    )
    .option(
      '--for <time>',
      'time from now to store it, such as 12h or 30d (default: 7d)',
      reading(parseDuration),
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
The exNode is written anew with the ends that were granted. The links stay the same.
A depot that refuses or does not answer keeps the end that it has; the others are
extended all the same. Exit status: 0 all are extended, otherwise that of the first
failure, as of "get".`,
    )
    .action(
      action<RefreshOptions, [string]>(context, async (report, options, exnode) => {
        // Imported here: the command's help needs no engine.
        const { runRefresh } = await import('./refresh-run.ts');
        return runRefresh(exnode, options, report, context);
      }),
    );
}
