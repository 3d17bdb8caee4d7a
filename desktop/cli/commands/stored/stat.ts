/** `millrace stat`: tells where a stored file lies, until when, and how many depots may fail. */

import { Command } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import type { StatOptions } from './stat-run.ts';

export function statCommand(context: CliContext): Command {
  return new Command('stat')
    .description(
      'show where a stored file lies: depots, ends of leases, and how many depots may fail before bytes are missing',
    )
    .summary('show where a stored file lies, and until when')
    .argument('<exnode>', 'exNode of the file (*.exnode): its path or its link')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Depots are not asked: what the exNode says is shown. Exit status: 0 each byte is at
some depot, 7 nobody has some of them.`,
    )
    .action(
      action<StatOptions, [string]>(context, async (report, options, exnode) => {
        // Imported here: the command's help needs no engine.
        const { runStat } = await import('./stat-run.ts');
        return runStat(exnode, options, report, context);
      }),
    );
}
