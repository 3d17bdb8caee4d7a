/** `millrace upload`: stores a file in a depot for a time, and prints a link to it. */

import { parseDuration, parseRate } from '@millrace/shared/base/unit-options';
import { Command } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { reading, repeated, stripeValue, urlValue, wholeNumber } from '../../text/option-values.ts';
import type { UploadCommandOptions } from './upload-run.ts';

export function uploadCommand(context: CliContext): Command {
  return new Command('upload')
    .description(
      'store a file, or a folder as a tar, in a depot for a time, and print a link: whoever has the link can download it, with any program',
    )
    .summary('store a file for a time, and print a link to it')
    .argument(
      '<file-or-url>',
      'file or folder to upload, - for standard input, or URL of a file that depots pull themselves',
    )
    .option(
      '--edge <url>',
      'a depot: an edge that keeps files; may be repeated; others of its network are found if there are too few (environment: MILLRACE_EDGE; default: the local edge)',
      repeated((text: string) => urlValue(text, ['https', 'http'])),
    )
    .option(
      '--token-file <file>',
      'file with your token for the depot; with several depots one for all or one for each (environment: MILLRACE_DEPOT_TOKEN, the token itself)',
      repeated((text: string) => text),
    )
    .option(
      '--copies <n>',
      'copies of each byte, each at another depot (default: one at each that is named)',
      wholeNumber(1, 64),
    )
    .option(
      '--encrypt',
      'encrypt the file: depots get neither its bytes nor its name, and the link ends in its key',
    )
    .option(
      '--stripe <k+m>',
      'store the file in K parts and M of parity, each at another depot, such as 4+2: any M depots may fail',
      stripeValue,
    )
    .option(
      '-o, --output <file>',
      'exNode that describes the file; written with several depots, with --encrypt, or if you name it (default: NAME.exnode)',
    )
    .option(
      '--guest <link>',
      'upload by the link of somebody who has invited you ("millrace invite"); no token is needed',
    )
    .option('--overwrite', 'replace an exNode of that name')
    .option(
      '--for <time>',
      'time to store it, such as 12h or 30d (default: 7d)',
      reading(parseDuration),
    )
    .option(
      '--retry-for <time>',
      'longest time without progress, after which a depot is given up (default: 2m)',
      reading(parseDuration),
    )
    .option('--name <name>', 'name that it is downloaded under (default: its own)')
    .option(
      '--limit <rate>',
      'bytes per second at most, to all depots together, such as 2MiB/s',
      reading(parseRate),
    )
    .option('--skip-links', 'leave out links and special files of a folder, which is else refused')
    .option('--quiet', 'print the link only')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      `
An interrupted upload is continued by the same command, as long as the file is the
same. The depot has the file only when its digest is right. The second address that
is printed manages the file: "curl -X DELETE ADDRESS" removes it. Keep that one to
yourself.

With several depots (--edge A --edge B), each gets a copy; with fewer --copies, the
file is stored in parts, and for more, further depots of the same network are found
that take your token. With --stripe 4+2, six depots store half as much again as
the file has, and any two of them may be lost. The exNode says which depot has
what. The links that are printed are copies of it to give away: "millrace get LINK"
downloads the file from all depots at once. What follows # in them is not sent to servers: the digest of
the file, or with --encrypt its key. Give such a link away whole, and only to people
who may read the file.

A folder is stored as a tar, FOLDER.tar, with names, times to the second, and which
files may be run; no tar is written here. "curl -OL LINK" gives the tar, and "millrace
get LINK --unpack" the folder. A file in it that changes meanwhile ends the upload.

Standard input (-) goes to one depot as it is, with the name of --name. Its bytes
cannot be read again: an upload that is interrupted by the network goes on, but one
whose command has ended leaves nothing and cannot be continued.

A URL in place of the file lets the depots fetch it: the first from its server, the
others from the first. It must be one that their edges may fetch from
(--allow-origin). Exit status: 0 stored, 3 stored without the shards of depots that
failed, otherwise as "get".`,
    )
    .action(
      action<UploadCommandOptions, [string]>(context, async (report, options, file) => {
        // Imported here: the command's help needs no engine.
        if (file === '-') {
          const { runStreamUpload } = await import('./stream-upload-run.ts');
          return runStreamUpload(options, report, context);
        }
        if (options.guest !== undefined) {
          const { runGuestUpload } = await import('./invite-run.ts');
          return runGuestUpload(file, options.guest, options, report, context);
        }
        if (/^https?:\/\//i.test(file)) {
          const { runUrlUpload } = await import('./url-upload-run.ts');
          return runUrlUpload(file, options, report, context);
        }
        const { runUpload } = await import('./upload-run.ts');
        return runUpload(file, options, report, context);
      }),
    );
}
