/** `millrace get`: downloads files in this process, without the daemon. */

import { Command } from 'commander';
import { action, type CliContext } from '../console/context.ts';
import { refuseOneFileOptions } from '../options/asked-request.ts';
import {
  addFollowOption,
  addRequestOptions,
  addResolverOptions,
} from '../options/request-options.ts';
import { UsageError, urlValue } from '../text/option-values.ts';
import type { GetOptions } from './get-run.ts';

export function getCommand(context: CliContext): Command {
  const command = addRequestOptions(
    new Command('get')
      .description('download files')
      .argument(
        '<url-or-file...>',
        'URL, or a Metalink file (*.meta4, *.metalink), a torrent (*.torrent) or a magnet link, or an exNode (*.exnode)',
      ),
    'the current one',
  );
  return addFollowOption(addResolverOptions(command), 'mem')
    .option('--unpack', 'unpack the file, a tar NAME.tar, into the folder NAME beside it')
    .option(
      '--older <file>',
      'older version on this disk: what both have is taken from it, the rest is fetched',
    )
    .option(
      '--zsync <url>',
      'with --older: list of the blocks of the file (default: URL.zsync beside it)',
      (text: string) => urlValue(text),
    )
    .option(
      '--house',
      'also use edges found on the local network, for files whose checksum is known: they get to know which files are downloaded',
    )
    .option('--quiet', 'print errors only')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      `
An exNode, which "upload" writes, says which servers have which parts of a file.
What follows # in a link to one is its key or its digest: put such a link in quotes.
A torrent is downloaded from the web servers that it names, and from those of --mirror (a folder if it
ends in /); no other torrent clients are asked. Put a magnet link in quotes.
With --unpack, a tar is unpacked once it is complete and as its digests say, if there are any: plain
files and folders only, none outside of the folder. The tar stays. A folder that
exists is refused, or with --overwrite gets the files, in place of those it has.
With --older, a list of blocks says what the file has: URL.zsync beside it, the pieces of a
Metalink, or the blocks of an exNode. The whole file is checked, and what was taken wrongly is
fetched.
An interrupted download is resumed by the same command; a file that the source sends in one
piece starts from the beginning. Exit status: 0 done, 2 usage, 3 network, 4 refused by the
server, 5 checksum mismatch, 6 file system, 7 the source is broken or the file changed,
130 interrupted, 1 anything else.
With several URLs: the status of the first one that failed.`,
    )
    .action(
      action<GetOptions, [string[]]>(context, async (report, options, texts) => {
        if (texts.length > 1) refuseOneFileOptions(options);
        refuseOlder(texts, options);
        // Imported here: the command's help needs no engine.
        const { get } = await import('./get-run.ts');
        return get(texts, options, report, context);
      }),
    );
}

/** Refuses an older file for several. @throws UsageError */
function refuseOlder(texts: readonly string[], { older, zsync }: GetOptions): void {
  if (zsync !== undefined && older === undefined) throw new UsageError('--zsync needs --older');
  if (older !== undefined && texts.length > 1) {
    throw new UsageError('--older is for one file: give one URL with it');
  }
}
