/** `millrace trim`: removes replicas of a stored file, or all of it. */

import { Command } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { repeated, urlValue } from '../../text/option-values.ts';
import type { TrimOptions } from './trim-run.ts';

export function trimCommand(context: CliContext): Command {
  return new Command('trim')
    .description('remove replicas of a stored file from its depots and from its exNode')
    .summary('remove replicas of a stored file, or all of it')
    .argument(
      '<exnode>',
      'your exNode of the file (*.exnode), or with --all the address that manages a single file',
    )
    .option('--expired', 'those that are gone, or whose lease is over')
    .option('--damaged', 'those with wrong bytes; reads all of them, as "stat --verify" does')
    .option(
      '--edge <url>',
      'those at this depot; may be repeated',
      repeated((text: string) => urlValue(text, ['https', 'http'])),
    )
    .option('--all', 'everything: nobody can download the file any more')
    .option(
      '--forget',
      'drop also what a depot does not delete: it stays there until its lease ends',
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Only --all removes the last replica of any byte, or the last one whose depot answers;
without it such a trim is refused, and nothing is removed. What a depot does not
delete stays in the exNode, so that the same command can try again. Exit status:
0 removed, 4 refused, otherwise that of the first failure, as of "get".`,
    )
    .action(
      action<TrimOptions, [string]>(context, async (report, options, exnode) => {
        // Imported here: the command's help needs no engine.
        const { runTrim } = await import('./trim-run.ts');
        return runTrim(exnode, options, report, context);
      }),
    );
}
