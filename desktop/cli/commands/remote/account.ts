/** `millrace daemon account`: who may log in to the daemon from other machines. */

import { Command } from 'commander';
import { makeStateFolder } from '../../../local/daemon-address.ts';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { typedPassword } from '../../console/typed-password.ts';
import { UsageError } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';

const JSON_OPTION = ['--json', 'print one JSON document'] as const;

export function accountCommand(context: CliContext): Command {
  const command = new Command('account').description(
    'set up accounts, with which people log in from other machines (--host)',
  );
  command
    .command('list', { isDefault: true })
    .description('list the accounts')
    .option(...JSON_OPTION)
    .action(
      action(context, async (report) => {
        const { readAccounts } = await import('../../../engine/remote/accounts.ts');
        const accounts = (await readAccounts(context.state)).map(({ name }) => ({ name }));
        report.result({ accounts }, () =>
          accounts.length === 0
            ? ['There are no accounts.']
            : accounts.map(({ name }) => printable(name)),
        );
        return undefined;
      }),
    );
  command
    .command('add')
    .description(
      'add an account, or change its password, which logs its browsers and devices out; asks for the password, or reads it from standard input',
    )
    .summary('add an account, or change its password')
    .argument('<name>', 'name to log in with')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string]>(context, async (report, _options, name) => {
        const { setAccount } = await import('../../../engine/remote/accounts.ts');
        await makeStateFolder(context.state);
        const isNew = await setAccount(context.state, name, await askedPassword(context));
        report.result({ name, new: isNew }, () => [
          isNew
            ? `Added the account "${printable(name)}".`
            : `"${printable(name)}" has a new password.`,
        ]);
        return undefined;
      }),
    );
  command
    .command('remove')
    .description('remove an account; its browsers and devices are logged out')
    .argument('<name>', 'its name')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string]>(context, async (report, _options, name) => {
        const { removeAccount } = await import('../../../engine/remote/accounts.ts');
        await removeAccount(context.state, name);
        report.result({ name }, () => [`Removed the account "${printable(name)}".`]);
        return undefined;
      }),
    );
  return command;
}

async function askedPassword(context: CliContext): Promise<string> {
  const password = await typedPassword(context, 'Password (not shown): ');
  if ((context.stdin as { isTTY?: boolean }).isTTY !== true) return password;
  const again = await typedPassword(context, 'The same again: ');
  if (again !== password) throw new UsageError('the two passwords differ');
  return password;
}
