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
    .option('--check', 'ask each depot whether it has what the exNode says')
    .option('--verify', 'read all replicas, and compare the digest of each block')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Without --check and --verify no depot is asked: what the exNode says is shown. Exit
status: 0 all is there; 3 each byte is at some depot, but some replicas are silent,
gone or wrong; 7 nobody has some of the bytes.`,
    )
    .action(
      action<StatOptions, [string]>(context, async (report, options, exnode) => {
        // Imported here: the command's help needs no engine.
        const { runStat } = await import('./stat-run.ts');
        return runStat(exnode, options, report, context);
      }),
    );
}
