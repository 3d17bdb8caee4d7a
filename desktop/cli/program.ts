/** The command line: all commands, in one program. */

import { Command } from 'commander';
import { addCommand } from './commands/add.ts';
import { changeCommand, urlCommand } from './commands/change.ts';
import { completeCommand, completionCommand } from './commands/completion.ts';
import { pauseCommand, removeCommand, resumeCommand } from './commands/control.ts';
import { daemonCommand } from './commands/daemon.ts';
import { exportCommand, importCommand } from './commands/exchange.ts';
import { infoCommand } from './commands/info.ts';
import { historyCommand, listCommand } from './commands/list.ts';
import { metalinkCommand } from './commands/metalink.ts';
import { openCommand } from './commands/open.ts';
import { categoriesCommand, limitCommand, scheduleCommand } from './commands/settings.ts';
import { streamCommand } from './commands/stream.ts';
import { watchCommand } from './commands/watch.ts';
import type { CliContext } from './context.ts';
import { getCommand } from './get-options.ts';

const VERSION = '0.1.0';

/** The program; nothing runs before it parses its arguments. */
export function buildProgram(context: CliContext): Command {
  const program = new Command('millrace')
    .description('Downloads large files fast, safely, and resumably')
    .version(VERSION)
    .helpOption('-h, --help', 'print help');
  program.commandsGroup('Download here and now:');
  program.addCommand(getProgram(context));
  program.addCommand(streamCommand(context));
  program.commandsGroup('Download in the background:');
  for (const make of [
    openCommand,
    addCommand,
    listCommand,
    watchCommand,
    infoCommand,
    pauseCommand,
    resumeCommand,
    removeCommand,
    changeCommand,
    urlCommand,
    historyCommand,
    exportCommand,
    importCommand,
  ]) {
    program.addCommand(make(context));
  }
  program.commandsGroup('The daemon, which does that:');
  for (const make of [daemonCommand, limitCommand, scheduleCommand, categoriesCommand]) {
    program.addCommand(make(context));
  }
  program.commandsGroup('Also:');
  program.helpCommand('help [command]', 'print help for a command');
  program.addCommand(metalinkCommand(context));
  program.addCommand(completionCommand(context, program));
  program.addCommand(completeCommand(context, program), { hidden: true });
  program.addHelpText('after', '\nmillrace help COMMAND tells more of each.');
  for (const command of everyCommand(program)) {
    // Set for each: commands that are added inherit nothing.
    command.exitOverride().configureHelp({ showGlobalOptions: false });
    command.allowExcessArguments(false).showSuggestionAfterError(true);
    command.helpOption('-h, --help', 'print help');
    if (command !== program && command.commands.length > 0) refuseUnknown(command);
  }
  return program;
}

/**
 * A mistyped word after a group of commands would be taken for an argument of its default one, and
 * refused without saying which word was probably meant.
 */
function refuseUnknown(group: Command): void {
  group.hook('preSubcommand', ({ args, commands }) => {
    const [word] = args;
    if (word === undefined || word.startsWith('-') || word === 'help') return;
    if (commands.some((sub) => sub.name() === word)) return;
    (group as unknown as { unknownCommand(): never }).unknownCommand();
  });
}

/** A command and all below it. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

function getProgram(context: CliContext): Command {
  const command = getCommand(async (urls, options) => {
    if (urls.length > 1 && options.output !== undefined) {
      command.error("error: option '-o' names one file: use -d for several URLs");
    }
    // Loaded here: the other commands start faster without the engine.
    const { get } = await import('./get.ts');
    context.exit(await get(urls, options, context, context.signal));
  });
  return command;
}
