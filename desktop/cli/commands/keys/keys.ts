/** `millrace keys`: the keys that may vouch for files, those that come with Millrace and the user's own. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { OwnKey } from '@millrace/shared/download/signatures/own-key';
import { SIGNERS } from '@millrace/shared/download/signatures/signers';
import { Command } from 'commander';
import { addKeys, readKeyList, removeKey } from '../../../engine/signatures/key-list.ts';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { textsOf } from '../../options/key-files.ts';
import { repeated } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';

const JSON_OPTION = ['--json', 'print one JSON document'] as const;

interface AddOptions extends CommonOptions {
  readonly fingerprint?: string;
  readonly name?: string;
  readonly for?: readonly string[];
}

export function keysCommand(context: CliContext): Command {
  const command = new Command('keys').description(
    'show or set the keys of publishers that may vouch for files ("Signed by ...")',
  );
  command.summary('choose whose signatures count');
  command
    .command('list', { isDefault: true })
    .description('show your keys, and those that come with Millrace')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, []>(context, async (report) => {
        const keys = await readKeyList(stateOf(context));
        const shipped = SIGNERS.map(({ name, fingerprints }) => ({ name, fingerprints }));
        report.result({ keys: keys.map(shown), shipped }, () => [
          ...(keys.length === 0 ? ['There are no keys of your own.'] : keys.flatMap(linesOf)),
          'With Millrace come:',
          ...shipped.flatMap(({ name, fingerprints }) =>
            fingerprints.map((one) => `  ${name}: ${one}`),
          ),
        ]);
        return undefined;
      }),
    );
  command
    .command('add')
    .description('add the public keys of a file, of OpenPGP or minisign')
    .argument('<file>')
    .option(
      '--fingerprint <hex>',
      'take only the key with this fingerprint, from a source you trust',
    )
    .option('--name <name>', 'name to show (default: the one that the key has)')
    .option(
      '--for <pattern>',
      'links it is for: example.org, or https://*.example.org/files/*; looks for signatures there; may be repeated (default: files whose signatures are looked for anyway)',
      repeated((text) => text),
    )
    .option(...JSON_OPTION)
    .action(
      action<AddOptions, [string]>(context, async (report, options, path) => {
        const [text = ''] = textsOf([path], context.cwd) ?? [];
        const { fingerprint, name, for: patterns = [] } = options;
        const asked = { text, fingerprint, name, patterns: [...patterns] };
        const added = await addKeys(stateOf(context), asked);
        report.result({ keys: added.map(shown) }, () => [
          ...added.flatMap(linesOf),
          ...(fingerprint === undefined
            ? ['Compare the fingerprint with one that the publisher has told you in another way.']
            : []),
        ]);
        return undefined;
      }),
    );
  command
    .command('remove')
    .description('remove a key of yours')
    .argument('<fingerprint>')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string]>(context, async (report, _options, fingerprint) => {
        const state = stateOf(context);
        await removeKey(state, fingerprint);
        const keys = await readKeyList(state);
        report.result({ keys: keys.map(shown) }, () => keys.flatMap(linesOf));
        return undefined;
      }),
    );
  return command.addHelpText(
    'after',
    `
A key vouches for every file that it has signed, so add only keys of publishers that you trust.
"millrace get URL --key FILE" takes a key for one download.`,
  );
}

/** Returns the state folder. @throws MillraceError `not-remote` with --remote */
function stateOf({ state, remote }: CliContext): string {
  if (remote === undefined) return state;
  throw new MillraceError('not-remote', 'keys are set where the downloads run');
}

function shown({ fingerprint, name, patterns }: OwnKey) {
  return { fingerprint, name, patterns };
}

function linesOf({ fingerprint, name, patterns }: OwnKey): string[] {
  const links =
    patterns.length === 0 ? 'files whose signatures are looked for' : patterns.join(', ');
  return [`${name}: ${fingerprint}`, `  for ${links}`].map(printable);
}
