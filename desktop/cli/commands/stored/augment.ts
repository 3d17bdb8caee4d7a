/** `millrace augment`: replaces lost replicas of a stored file, and adds further ones. */

import { parseDuration } from '@millrace/shared/base/unit-options';
import { Command } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { reading, repeated, urlValue, wholeNumber } from '../../text/option-values.ts';
import type { AugmentCommandOptions } from './augment-run.ts';

export function augmentCommand(context: CliContext): Command {
  return new Command('augment')
    .description(
      'replace lost replicas of a stored file and add further ones: each part of the file has the given number of them again, each at another depot; of a striped file, rebuild lost shards',
    )
    .summary('replace lost replicas or shards of a stored file, or add further ones')
    .argument('<exnode>', 'exNode of the file (*.exnode): a file, in which new replicas are listed')
    .option(
      '--copies <n>',
      'replicas that each part shall have; striped files need no such number',
      wholeNumber(1, 64),
    )
    .option(
      '--edge <url>',
      'a depot that may store replicas; may be repeated. If too few are named, others of their networks are found, and get the token (environment: MILLRACE_EDGE)',
      repeated((text: string) => urlValue(text, ['https', 'http'])),
    )
    .option(
      '--token-file <file>',
      'file with your token for the depots: one for all or one for each (environment: MILLRACE_DEPOT_TOKEN, the token itself)',
      repeated((text: string) => text),
    )
    .option(
      '--for <time>',
      'time from now to store new replicas, such as 12h or 30d (default: as long as the others)',
      reading(parseDuration),
    )
    .option('--quiet', 'print the result only')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      `
The depots copy from each other; where one may not, or cannot, the bytes go through
this computer. Lost shards of a striped file are computed here from others, each for
a depot that has no other shard of the same bytes; no key is needed. Replicas that are silent, lost or damaged do not count; they stay
listed until "trim" removes them. A replica is listed once its digests are right. An
interrupted command is continued by the same command. Exit status: 0 each part has
its replicas, 4 there are too few depots, 7 nobody has some of the bytes, otherwise
as "get".`,
    )
    .action(
      action<AugmentCommandOptions, [string]>(context, async (report, options, exnode) => {
        // Imported here: the command's help needs no engine.
        const { runAugment } = await import('./augment-run.ts');
        return runAugment(exnode, options, report, context);
      }),
    );
}
