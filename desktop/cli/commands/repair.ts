/** `millrace repair`: fetches the wrong parts of a file that is on this disk. */

import { Command } from 'commander';
import { action, type CliContext } from '../console/context.ts';
import { requestOption } from '../options/request-options.ts';
import { urlValue } from '../text/option-values.ts';
import type { GetOptions } from './get-run.ts';

export function repairCommand(context: CliContext): Command {
  const command = new Command('repair')
    .description('fetch the wrong parts of a file')
    .argument('<file>', 'damaged file')
    .argument('<url-or-file>', 'URL of the file, or a Metalink file, or an exNode')
    .option(
      '--zsync <url>',
      'list of the blocks of the file (default: URL.zsync beside it)',
      (text: string) => urlValue(text),
    )
    .option('--quiet', 'print errors only')
    .option('--json', 'print one JSON object per line');
  for (const name of ['checksum', 'findChecksum', 'mirror', 'edge', 'limit', 'proxy'] as const) {
    command.addOption(requestOption(name));
  }
  return command
    .addHelpText(
      'after',
      `
What the list of blocks, or digests of pieces, show to be right is copied; the rest is fetched. The
copy replaces the file once it has the digest of the whole file: one must be known, from the
list, the Metalink, the server, or --checksum. Exit status: as of "millrace get".`,
    )
    .action(
      action<GetOptions, [string, string]>(context, async (report, options, file, url) => {
        // Imported here: the command's help needs no engine.
        const { get } = await import('./get-run.ts');
        const own = { output: file, overwrite: true, older: file, repairs: true };
        return get([url], { ...options, ...own }, report, context);
      }),
    );
}
