/** Writes the manual page of the command line from its own help. */

import { buildProgram, everyCommand } from '../../desktop/cli/program.ts';
import { VERSION } from '../../shared/src/base/version.ts';

type Command = Awaited<ReturnType<typeof buildProgram>>;

/** Exit statuses, as desktop/README.md has them. */
const STATUSES: readonly (readonly [status: number, meaning: string])[] = [
  [0, 'done'],
  [1, 'something unexpected: please report it'],
  [2, 'usage: an option or a URL'],
  [3, 'network: no server can be reached'],
  [4, 'the server, or every edge, refuses'],
  [5, 'the checksum does not match; nothing is kept'],
  [6, 'file system: no room, no permission, the file exists'],
  [7, 'the source breaks the rules of HTTP, or its file keeps changing'],
  [8, 'sync push: some of the hosts are done, but not all'],
  [130, 'interrupted; the same command continues'],
];

/**
 * Returns the manual page millrace(1) in the language of man(7).
 *
 * @param date day of the release, such as 2026-11-27
 */
export async function manPage(date: string): Promise<string> {
  // No command runs, so the program needs no context.
  const program = await buildProgram({} as never);
  const commands = everyCommand(program).filter(
    (command) => command !== program && command.commands.length === 0,
  );
  return [
    `.TH MILLRACE 1 ${plain(date)} "Millrace ${VERSION}"`,
    '.SH NAME',
    'millrace \\- download large files fast, safely, and resumably',
    '.SH SYNOPSIS',
    '.B millrace',
    '.I COMMAND',
    '[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]',
    '.SH DESCRIPTION',
    'Millrace fetches several parts of a file at a time, from its server, from mirrors and through',
    'edges, and checks what it gets. An interrupted download continues with the same command.',
    '.PP',
    '.B millrace get',
    'downloads here and now. A daemon downloads in the background; it starts when it is needed.',
    '.B millrace open',
    'shows its page in a browser.',
    '.B millrace help',
    '.I COMMAND',
    'describes a command in full.',
    '.SH COMMANDS',
    ...commands
      .filter((command) => !command.name().startsWith('__') && command.name() !== 'help')
      .flatMap(section),
    '.SH EXIT STATUS',
    ...STATUSES.flatMap(([status, meaning]) => ['.TP', `.B ${status}`, plain(meaning)]),
    '.SH FILES',
    '.TP',
    '.I ~/.local/state/millrace',
    'Queue, history and settings of the daemon. MILLRACE_STATE names another folder.',
    '.TP',
    '.I FILE.millrace-part, FILE.millrace-journal',
    'An unfinished download and the digests of its segments.',
    '',
  ].join('\n');
}

function section(command: Command): string[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  return [
    `.SS ${plain(help.commandUsage(command).replace(/ \[options\]/, ''))}`,
    plain(command.description()),
    ...help.visibleArguments(command).flatMap((argument) => {
      return argument.description === '' ? [] : tagged(argument.name(), argument.description);
    }),
    ...options.flatMap((option) => tagged(option.flags, help.optionDescription(option))),
  ];
}

function tagged(term: string, text: string): string[] {
  return ['.TP', `.B ${plain(term)}`, plain(text)];
}

/** Escapes a text that roff must not read as its own words. */
function plain(text: string): string {
  return text
    .replace(/\\/g, '\\(rs')
    .replace(/-/g, '\\-')
    .replace(/\u2019/g, '\\(cq')
    .replace(/^([.'])/gm, '\\&$1')
    .replace(/\s*\n\s*/g, ' ');
}
