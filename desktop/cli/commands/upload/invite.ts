/** `millrace invite`: lets somebody without a token upload to the user's space in a depot. */

import { parseBytes, parseDuration } from '@millrace/shared/base/unit-options';
import { MAX_GUEST_SPACES } from '@millrace/shared/http/urls/guest-link';
import { Command } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { reading, urlValue, wholeNumber } from '../../text/option-values.ts';
import type { InviteOptions } from './invite-run.ts';

export function inviteCommand(context: CliContext): Command {
  return new Command('invite')
    .description(
      'reserve space in a depot, and print a link by which somebody without a token uploads a file there: with any browser, or with "millrace upload --guest LINK FILE"',
    )
    .summary('let somebody without a token send you a file')
    .requiredOption('--bytes <size>', 'largest file, such as 2GiB', reading(parseBytes))
    .option(
      '--for <time>',
      'time for which the link and the file last, such as 12h or 30d (default: 7d)',
      reading(parseDuration),
    )
    .option(
      '--times <n>',
      'uploads that the link permits (default: 1)',
      wholeNumber(1, MAX_GUEST_SPACES),
    )
    .option(
      '--edge <url>',
      'the depot (environment: MILLRACE_EDGE; default: the local edge)',
      (text: string) => urlValue(text, ['https', 'http']),
    )
    .option(
      '--token-file <file>',
      'file with your token for the depot (environment: MILLRACE_DEPOT_TOKEN, the token itself)',
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
The space is reserved at once, and is charged to you like a file of your own. Give
the first link to your guest. The others are yours: each "file" leads to what the
guest has sent, once all of it is there, and each "manage" ends it
("curl -X DELETE ADDRESS"), also before it is used. "millrace refresh ADDRESS
--for 30d" keeps the file for longer.`,
    )
    .action(
      action<InviteOptions, []>(context, async (report, options) => {
        // Imported here: the command's help needs no engine.
        const { runInvite } = await import('./invite-run.ts');
        return runInvite(options, report, context);
      }),
    );
}
