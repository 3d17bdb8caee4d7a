/** `millrace after`: what happens after downloads. */

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { ResultOf } from '@millrace/shared/bridge/contract/contract';
import type { AfterChoice } from '@millrace/shared/download/after/after';
import { DEFAULT_SECONDS, MAX_SECONDS } from '@millrace/shared/download/after/command';
import { WHEN_DONE, type WhenDone } from '@millrace/shared/download/after/when-done';
import { Argument, Command } from 'commander';
import { action, type CliContext, type CommonOptions, type Report } from '../../console/context.ts';
import { type DaemonLink, withDaemon } from '../../console/daemon-link.ts';
import { THEN_WORDS, thenValue, thenWords } from '../../options/then-option.ts';
import { UsageError, wholeNumber } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';

type AfterSettings = ResultOf<'millrace.getAfter'>;
const JSON_OPTION = ['--json', 'print one JSON document'] as const;
const SECRET_BYTES = 32;

export function afterCommand(context: CliContext): Command {
  const command = new Command('after').description(
    'show or set what happens after downloads: move, extract, run a command, open, tell a webhook',
  );
  command.summary('choose what happens after downloads');
  const change = (report: Report, edit: (now: AfterSettings) => Partial<AfterSettings>) =>
    withDaemon(context, async (daemon) => {
      const now = await daemon.call('millrace.getAfter');
      show(report, await daemon.call('millrace.setAfter', edit(now)));
      return undefined;
    });
  command
    .command('show', { isDefault: true })
    .description('show rules, commands, the webhook, and what the machine does when all is done')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, []>(context, (report) =>
        withDaemon(context, async (daemon) => {
          const settings = await daemon.call('millrace.getAfter');
          const done = await daemon.call('millrace.whenDone', {});
          report.result({ ...settings, whenDone: done }, () => [
            ...lines(settings),
            ...doneLines(done),
          ]);
          return undefined;
        }),
      ),
    );
  command
    .command('set')
    .description('set the actions of a category, or of all downloads without a rule of their own')
    .addArgument(new Argument('<action...>', THEN_WORDS).argParser(thenValue))
    .option('--category <name>', 'category')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions & { readonly category?: string }, [AfterChoice]>(
        context,
        (report, { category }, choice) =>
          change(report, ({ rules }) => {
            const others = rules.filter((rule) => rule.category !== category);
            const rule = category === undefined ? choice : { category, ...choice };
            // A category's rule without actions still shields it from the rule for all others.
            const isNone = Object.keys(choice).length === 0 && category === undefined;
            return { rules: isNone ? others : [...others, rule] };
          }),
      ),
    );
  command
    .command('clear')
    .description('remove the rule of a category')
    .argument('<category>')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string]>(context, (report, _options, category) =>
        change(report, ({ rules }) => {
          const others = rules.filter((rule) => rule.category !== category);
          if (others.length < rules.length) return { rules: others };
          throw new UsageError(`there is no rule for "${category}"`);
        }),
      ),
    );
  command
    .command('command')
    .description(
      'set up a command that actions may name; {path}, {name}, {folder}, {url} and {digest} are filled in',
    )
    .argument('<name>')
    .argument('[word...]', 'program and arguments, after "--"; none: remove the command')
    .option('--seconds <number>', 'longest time that it may run', wholeNumber(1, MAX_SECONDS))
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions & { readonly seconds?: number }, [string, string[]]>(
        context,
        (report, { seconds = DEFAULT_SECONDS }, name, args) =>
          change(report, ({ commands }) => {
            const others = commands.filter((one) => one.name !== name);
            return { commands: args.length === 0 ? others : [...others, { name, args, seconds }] };
          }),
      ),
    );
  command
    .command('webhook')
    .description('set the address that is told of downloads, with a signature (Standard Webhooks)')
    .argument('<url>', 'http or https; "none"')
    .option('--secret-file <file>', 'file with the secret (whsec_...); default: a new one')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions & { readonly secretFile?: string }, [string]>(
        context,
        (report, { secretFile }, url) =>
          withDaemon(context, async (daemon) => {
            await setWebhook(daemon, report, url, await secretOf(secretFile, context));
            return undefined;
          }),
      ),
    );
  command
    .command('all')
    .description('sleep or shut down when all downloads are done; forgotten when the daemon ends')
    .addArgument(new Argument('<what>').choices([...WHEN_DONE, 'nothing']))
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [WhenDone | 'nothing']>(context, (report, _options, what) =>
        withDaemon(context, async (daemon) => {
          const params = { what: what === 'nothing' ? null : what };
          const done = await daemon.call('millrace.whenDone', params);
          const stays = ['When all downloads are done, the machine stays on.'];
          report.result(done, () => (done.what === null ? stays : doneLines(done)));
          return undefined;
        }),
      ),
    );
  return command;
}

async function secretOf(file: string | undefined, { cwd }: CliContext) {
  if (file === undefined) return undefined;
  try {
    return (await readFile(resolve(cwd, file), 'utf8')).trim();
  } catch (cause) {
    throw new MillraceError('bad-option', `${file} cannot be read`, { cause });
  }
}

async function setWebhook(daemon: DaemonLink, report: Report, url: string, given?: string) {
  if (url === 'none') {
    return show(report, await daemon.call('millrace.setAfter', { webhook: null }));
  }
  const secret = given ?? `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  const settings = await daemon.call('millrace.setAfter', { webhook: { url, secret } });
  const made = given === undefined ? { secret } : {};
  report.result({ ...settings, ...made }, () => [
    ...lines(settings),
    ...(given === undefined ? [`Its secret, for the receiver: ${secret}`] : []),
  ]);
}

function show(report: Report, settings: AfterSettings): void {
  report.result(settings, () => lines(settings));
}

function lines({ rules, commands, webhook }: AfterSettings): string[] {
  const all = [
    ...rules.map((rule) => `${rule.category ?? 'all others'}: ${thenWords(rule)}`),
    ...commands.map(({ name, args }) => `command ${name}: ${JSON.stringify(args)}`),
    ...(webhook === null ? [] : [`webhook: ${webhook.url}`]),
  ];
  return all.length === 0 ? ['Nothing happens after downloads.'] : all.map(printable);
}

function doneLines({ what, problem }: ResultOf<'millrace.whenDone'>): string[] {
  const words = { sleep: 'the machine sleeps', shutdown: 'the machine shuts down' };
  return [
    ...(what === null ? [] : [`When all downloads are done, ${words[what]} after one minute.`]),
    ...(problem === undefined ? [] : [printable(`It did not work: ${problem}`)]),
  ];
}
