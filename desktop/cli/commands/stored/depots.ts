/** `millrace depots`: how fast and how reliable the depots were that this user has used. */

import { reputeOf } from '@millrace/shared/exnode/depot-history';
import { Command } from 'commander';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { historyLines } from '../../view/depot-history-text.ts';

export function depotsCommand(context: CliContext): Command {
  return new Command('depots')
    .description(
      'list the depots that this computer has used: how fast they took files, and how reliably they kept them',
    )
    .summary('list depots by what uploads have seen of them')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Uploads, "millrace stat --check", "--verify" and "millrace augment" note what they see.
When further depots are needed than you name, bad ones are asked last, and those that
were much faster before others. What was seen counts half after three weeks; a depot
that was full is asked last for a day.`,
    )
    .action(
      action<CommonOptions, []>(context, async (report) => {
        // Imported here: the command's help needs no engine.
        const { KeptHistory } = await import('../../../engine/upload/spread/kept-history.ts');
        const now = Date.now();
        const seen = await new KeptHistory(context.state).read();
        const depots = seen.map((one) => ({ ...one, repute: reputeOf(one, now) }));
        report.result({ depots }, () => historyLines(depots));
        return undefined;
      }),
    );
}
