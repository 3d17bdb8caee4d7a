/** `millrace resolvers`: programs of the user that find the link to a file. */

import { isAbsolute, resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import { type Resolver, YT_DLP } from '@millrace/shared/bridge/rpc/settings-api';
import { MAX_RESOLVER_SECONDS } from '@millrace/shared/download/resolve/resolved';
import { Command } from 'commander';
import { findProgram } from '../../../engine/after/programs.ts';
import {
  readResolvers,
  removeResolver,
  setResolver,
} from '../../../engine/resolvers/resolver-list.ts';
import { type Found, Resolvers } from '../../../engine/resolvers/resolvers.ts';
import { action, type CliContext, type CommonOptions, type Report } from '../../console/context.ts';
import { downloadUrl } from '../../options/asked-request.ts';
import { repeated, wholeNumber } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';

const JSON_OPTION = ['--json', 'print one JSON document'] as const;

interface SetOptions extends CommonOptions {
  readonly for?: readonly string[];
  readonly seconds?: number;
  readonly ytDlp?: boolean;
}

interface TryOptions extends CommonOptions {
  readonly resolver?: string;
}

export function resolversCommand(context: CliContext): Command {
  const command = new Command('resolvers').description(
    'show or set the programs that find the link to a file: each gets a URL, and answers with links',
  );
  command.summary('let a program of yours find the links of pages');
  command
    .command('list', { isDefault: true })
    .description('show the resolvers, and what they are for')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, []>(context, async (report) => {
        await show(context, report);
        return undefined;
      }),
    );
  command
    .command('set')
    .description('set up a resolver, or change it')
    .argument('<name>', 'letters and digits; "yt-dlp" is the one that comes with Millrace')
    .argument('[word...]', 'program and arguments, after "--" (yt-dlp: default yt-dlp)')
    .option(
      '--for <pattern>',
      'links it is for: example.org, or https://*.example.org/watch/*, or *; may be repeated (default: only those with --resolver)',
      repeated((text) => text),
    )
    .option(
      '--seconds <number>',
      'longest time that it may run (default: 30; yt-dlp 60)',
      wholeNumber(1, MAX_RESOLVER_SECONDS),
    )
    .option('--yt-dlp', 'the program is yt-dlp under another name')
    .option(...JSON_OPTION)
    .action(
      action<SetOptions, [string, string[]]>(context, async (report, options, name, words) => {
        await setResolver(stateOf(context), resolverOf(context, options, name, words));
        await show(context, report);
        return undefined;
      }),
    );
  command
    .command('remove')
    .description('remove a resolver')
    .argument('<name>')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string]>(context, async (report, _options, name) => {
        await removeResolver(stateOf(context), name);
        await show(context, report);
        return undefined;
      }),
    );
  command
    .command('try')
    .description('ask about a URL, and show the answer; nothing is downloaded')
    .argument('<url>')
    .option('--resolver <name>', 'resolver to ask (default: the first one whose patterns match)')
    .option(...JSON_OPTION)
    .action(
      action<TryOptions, [string]>(context, async (report, { resolver }, given) => {
        const question = { url: downloadUrl(given), resolver };
        const found = await new Resolvers(stateOf(context)).ask(question, context.signal);
        report.result(found ?? null, () => answerLines(found));
        return undefined;
      }),
    );
  return command.addHelpText(
    'after',
    `
A resolver reads a URL, a line, from standard input and prints one JSON value:
  {"urls": ["https://..."], "name": "file.zip", "length": 123}
Also: "headers", "digests", "expires" (Unix seconds), "note"; null: not for me; {"error": "why"}.
No shell reads its words. It runs as you, with few environment variables, and only for downloads
that are added on this machine. RESOLVERS.md has more, and examples.
"millrace resolvers set yt-dlp --for example.org" lets your yt-dlp find videos there.`,
  );
}

/** Returns the state folder. @throws MillraceError `not-remote` with --remote */
function stateOf({ state, remote }: CliContext): string {
  if (remote === undefined) return state;
  throw new MillraceError('not-remote', 'resolvers are programs of the machine that they run on');
}

function resolverOf(
  { cwd }: CliContext,
  { for: patterns = [], seconds, ytDlp = false }: SetOptions,
  name: string,
  [program, ...rest]: readonly string[],
): Resolver {
  const isYtDlp = ytDlp || name === YT_DLP.name;
  if (program === undefined && !isYtDlp) {
    throw new MillraceError('bad-option', 'the program is missing: give it after "--"');
  }
  const given = program ?? YT_DLP.name;
  // A name without a folder is looked up on PATH, any other path is one from here.
  const isPath = /[/\\]/.test(given) && !isAbsolute(given);
  return {
    name,
    args: [isPath ? resolve(cwd, given) : given, ...rest],
    patterns: [...patterns],
    seconds: seconds ?? (isYtDlp ? YT_DLP.seconds : 30),
    prints: isYtDlp ? 'yt-dlp' : 'answer',
  };
}

async function show(context: CliContext, report: Report): Promise<void> {
  const resolvers = await readResolvers(stateOf(context));
  const isSet = resolvers.some(({ name }) => name === YT_DLP.name);
  const ytDlp = isSet ? undefined : await findProgram(YT_DLP.args);
  report.result({ resolvers }, () => [
    ...(resolvers.length === 0 ? ['There are no resolvers.'] : resolvers.flatMap(linesOf)),
    ...(ytDlp === undefined ? [] : [printable(`${ytDlp} is there: --resolver yt-dlp asks it.`)]),
  ]);
}

function linesOf({ name, args, patterns, seconds, off }: Resolver): string[] {
  const links = patterns.length === 0 ? 'only links with --resolver' : patterns.join(', ');
  const state = off === true ? ', switched off' : '';
  return [`${name}: ${JSON.stringify(args)}, ${seconds} s${state}`, `  for ${links}`].map(
    printable,
  );
}

function answerLines(found: Found | undefined): string[] {
  if (found === undefined) return ['No resolver is for this URL: it is taken as it is.'];
  const { by, answer } = found;
  const { urls, name, length, digests, headers, expires, note } = answer;
  const fields = Object.keys(headers);
  return [
    `Resolved by ${by}`,
    ...urls.map((url) => `  ${url}`),
    ...(name === undefined ? [] : [`Name: ${name}`]),
    ...(length === undefined ? [] : [`Length: ${formatBytes(length)}`]),
    ...digests.map(({ algorithm, hex }) => `${algorithm}: ${hex}`),
    // Their values may be secret.
    ...(fields.length === 0 ? [] : [`Request fields: ${fields.join(', ')}`]),
    ...(expires === undefined ? [] : [`Expires: ${new Date(expires).toISOString()}`]),
    ...(note === undefined ? [] : [`Note: ${note}`]),
  ].map(printable);
}
