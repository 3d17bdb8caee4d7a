/** `millrace sync`: publishes a folder at one place and brings it to many others. */

import type { Digest } from '@millrace/shared/base/digest';
import { Command, InvalidArgumentError } from 'commander';
import { action, type CliContext } from '../console/context.ts';
import { requestOption } from '../options/request-options.ts';
import { digestValue, urlValue } from '../text/option-values.ts';
import type { ApplyOptions, PublishOptions } from './sync-run.ts';

const SCRIPT = 'also write a shell script that applies the manifest with curl and sha256sum';

export function syncCommand(context: CliContext): Command {
  const command = new Command('sync').description('bring a folder to many machines');
  command
    .command('publish')
    .description('write the manifest of a folder')
    .argument('<folder>', 'folder to publish')
    .requiredOption('--url <url>', 'URL at which the folder is served', folderUrl)
    .option('-o, --output <file>', 'the manifest (default: millrace-sync.json in the folder)')
    .option('--archive', 'also put all files into millrace-sync.tar, for first deployments')
    .option('--script <file>', SCRIPT)
    .addOption(requestOption('edge'))
    .addOption(requestOption('edgesOnly'))
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nOnly the script uses the edges. Links and devices are left out.')
    .action(
      action<PublishOptions, [string]>(context, async (report, options, folder) => {
        const { publishFolder } = await import('./sync-run.ts');
        return publishFolder(folder, options, report, context);
      }),
    );
  command
    .command('apply')
    .description('bring a folder to the state of a manifest: fetch only the differences')
    .argument('<manifest>', 'URL of the manifest, or a file')
    .argument('[folder]', 'the folder; it is made if it is not there')
    .addOption(requestOption('edge'))
    .addOption(requestOption('edgesOnly'))
    .option(
      '--checksum <digest>',
      'digest that the manifest must have, as "publish" prints it: sha-256=HEX',
      manifestDigest,
    )
    .option('--delete', 'delete files that the manifest does not name, once all others are right')
    .option('--dry-run', 'show the changes without making them')
    .option('--archive', 'fetch the archive if the folder is empty')
    .option('--script <file>', 'only write a shell script that does this with curl and sha256sum')
    .addOption(requestOption('proxy'))
    .addOption(requestOption('timeout'))
    .addOption(requestOption('retryFor'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Every file is compared with its digest before it gets its name. After an interruption
the same command continues where it stopped. Exit status: 0 the folder is as it should
be, otherwise as "get".`,
    )
    .action(
      action<ApplyOptions, [string, string | undefined]>(
        context,
        async (report, options, manifest, folder) => {
          const { applyToFolder } = await import('./sync-run.ts');
          return applyToFolder(manifest, folder, options, report, context);
        },
      ),
    );
  return command;
}

function folderUrl(text: string): string {
  const url = new URL(urlValue(text));
  if (url.search !== '') throw new InvalidArgumentError('the URL of a folder has no query');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url.href;
}

function manifestDigest(text: string): Digest {
  const digest = digestValue(text);
  if (digest.algorithm !== 'sha256') throw new InvalidArgumentError('a sha-256 is needed');
  return digest;
}
