/** `millrace sync`: publishes a folder at one place and brings it to many others. */

import type { Digest } from '@millrace/shared/base/digest';
import { commandWords } from '@millrace/shared/sync/command-words';
import { SCRIPT_NAME } from '@millrace/shared/sync/sync-path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { requestOption } from '../../options/request-options.ts';
import { digestValue, reading, urlValue, wholeNumber } from '../../text/option-values.ts';
import { PARALLEL, SSH } from './push-defaults.ts';
import type { PushOptions } from './push-run.ts';
import type { ApplyOptions, PublishOptions } from './sync-run.ts';

const MAX_PARALLEL = 64;
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
    .addOption(manifestChecksum())
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
  command
    .command('push')
    .description('bring a folder to hosts that have only a shell, curl and sha256sum, over ssh')
    .argument('<manifest>', 'the manifest, a file in the served folder or its URL')
    .argument('<host:folder...>', 'hosts for ssh, each with the folder there')
    .addOption(requestOption('edge'))
    .addOption(requestOption('edgesOnly'))
    .addOption(manifestChecksum())
    .option('--script <url>', `URL of the script (default: ${SCRIPT_NAME} beside the files)`, urlOf)
    .option(
      '--parallel <number>',
      `most hosts at a time, 1 to ${MAX_PARALLEL} (default: ${PARALLEL})`,
      wholeNumber(1, MAX_PARALLEL),
    )
    .option(
      '--ssh <command>',
      `program that reaches hosts (default: ${SSH.join(' ')})`,
      reading(commandWords),
    )
    .option('--dry-run', 'count what hosts would fetch, and change nothing')
    .addOption(requestOption('proxy'))
    .addOption(requestOption('timeout'))
    .addOption(requestOption('retryFor'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Each host gets a few lines over ssh, which fetch the script through an edge, check its
digest and run it. If the manifest is a file, the script is written beside it, for the
folder's server to send; otherwise it must have been published with the same edges.
The same command continues after an interruption. Exit status: 0 all hosts are done,
8 one of them is not, otherwise as "get".`,
    )
    .action(
      action<PushOptions, [string, string[]]>(
        context,
        async (report, options, manifest, targets) => {
          const { pushToHosts } = await import('./push-run.ts');
          return pushToHosts(manifest, targets, options, report, context);
        },
      ),
    );
  return command;
}

function urlOf(text: string): string {
  return urlValue(text);
}

function folderUrl(text: string): string {
  const url = new URL(urlValue(text));
  if (url.search !== '') throw new InvalidArgumentError('the URL of a folder has no query');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url.href;
}

function manifestChecksum(): Option {
  const about = 'digest that the manifest must have, as "publish" prints it: sha-256=HEX';
  return new Option('--checksum <digest>', about).argParser(manifestDigest);
}

function manifestDigest(text: string): Digest {
  const digest = digestValue(text);
  if (digest.algorithm !== 'sha256') throw new InvalidArgumentError('a sha-256 is needed');
  return digest;
}
