/** `millrace upload`: stores a file in a depot for a time, and prints a link to it. */

import { parseDuration } from '@millrace/shared/base/unit-options';
import { Command } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { reading, urlValue } from '../../text/option-values.ts';
import type { UploadCommandOptions } from './upload-run.ts';

export function uploadCommand(context: CliContext): Command {
  return new Command('upload')
    .description(
      'store a file in a depot for a time, and print a link: whoever has the link can download the file, with any program',
    )
    .summary('store a file for a time, and print a link to it')
    .argument('<file>', 'file to upload')
    .option(
      '--edge <url>',
      'the depot: an edge that keeps files (environment: MILLRACE_EDGE; default: the local edge)',
      (text: string) => urlValue(text, ['https', 'http']),
    )
    .option(
      '--token-file <file>',
      'file with your token for the depot (environment: MILLRACE_DEPOT_TOKEN, the token itself)',
    )
    .option(
      '--for <time>',
      'time to store it, such as 12h or 30d (default: 7d)',
      reading(parseDuration),
    )
    .option('--name <name>', 'name that it is downloaded under (default: its own)')
    .option('--quiet', 'print the link only')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      `
An interrupted upload is continued by the same command, as long as the file is the
same. The depot has the file only when its digest is right. The second address that
is printed manages the file: "curl -X DELETE ADDRESS" removes it. Keep that one to
yourself. Exit status: 0 stored, otherwise as "get".`,
    )
    .action(
      action<UploadCommandOptions, [string]>(context, async (report, options, file) => {
        // Imported here: the command's help needs no engine.
        const { runUpload } = await import('./upload-run.ts');
        return runUpload(file, options, report, context);
      }),
    );
}
