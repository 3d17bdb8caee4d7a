/**
 * The command line: all commands, in one program. Only the module of the requested command is
 * loaded; help and completion cover all commands, and load all modules.
 */

import { VERSION } from '@millrace/shared/base/version';
import { Command } from 'commander';
import type { CliContext } from './console/context.ts';
import { OtherProgram } from './console/other-program.ts';

type Make = (context: CliContext, program: Command) => Command;

/** Command that shells call for completion. */
const COMPLETE = '__complete';

/** The commands by group and name, as help shows them. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<Make>>>>> = {
  'Download here and now:': {
    get: async () => (await import('./commands/get.ts')).getCommand,
    repair: async () => (await import('./commands/repair.ts')).repairCommand,
    probe: async () => (await import('./commands/adding/probe.ts')).probeCommand,
    stream: async () => (await import('./commands/stream.ts')).streamCommand,
  },
  'Send files:': {
    shares: async () => (await import('./commands/stored/shares.ts')).sharesCommand,
    upload: async () => (await import('./commands/upload/upload.ts')).uploadCommand,
    invite: async () => (await import('./commands/upload/invite.ts')).inviteCommand,
    depots: async () => (await import('./commands/stored/depots.ts')).depotsCommand,
    stat: async () => (await import('./commands/stored/stat.ts')).statCommand,
    augment: async () => (await import('./commands/stored/augment.ts')).augmentCommand,
    refresh: async () => (await import('./commands/stored/refresh.ts')).refreshCommand,
    trim: async () => (await import('./commands/stored/trim.ts')).trimCommand,
  },
  'Download in the background:': {
    open: async () => (await import('./commands/open.ts')).openCommand,
    add: async () => (await import('./commands/add.ts')).addCommand,
    list: async () => (await import('./commands/list.ts')).listCommand,
    watch: async () => (await import('./commands/watch.ts')).watchCommand,
    info: async () => (await import('./commands/info.ts')).infoCommand,
    pause: async () => (await import('./commands/control.ts')).pauseCommand,
    resume: async () => (await import('./commands/control.ts')).resumeCommand,
    remove: async () => (await import('./commands/control.ts')).removeCommand,
    trash: async () => (await import('./commands/trash.ts')).trashCommand,
    change: async () => (await import('./commands/change.ts')).changeCommand,
    url: async () => (await import('./commands/change.ts')).urlCommand,
    history: async () => (await import('./commands/list.ts')).historyCommand,
    export: async () => (await import('./commands/exchange.ts')).exportCommand,
    import: async () => (await import('./commands/exchange.ts')).importCommand,
  },
  'The daemon, which downloads in the background:': {
    daemon: async () => (await import('./commands/daemon.ts')).daemonCommand,
    pair: async () => (await import('./commands/remote/devices.ts')).pairCommand,
    devices: async () => (await import('./commands/remote/devices.ts')).devicesCommand,
    resolvers: async () => (await import('./commands/resolvers/resolvers.ts')).resolversCommand,
    keys: async () => (await import('./commands/keys/keys.ts')).keysCommand,
    after: async () => (await import('./commands/after/after.ts')).afterCommand,
    limit: async () => (await import('./commands/settings.ts')).limitCommand,
    schedule: async () => (await import('./commands/settings.ts')).scheduleCommand,
    categories: async () => (await import('./commands/settings.ts')).categoriesCommand,
  },
  'For publishers, and operators of edges:': {
    sync: async () => (await import('./commands/sync/sync.ts')).syncCommand,
    edges: async () => (await import('./commands/edge/edges.ts')).edgesCommand,
    edge: async () => (await import('./commands/edge/edge.ts')).edgeCommand,
  },
  'Also:': {
    'native-host': async () => (await import('./commands/native-host.ts')).nativeHostCommand,
    uninstall: async () => (await import('./commands/uninstall.ts')).uninstallCommand,
    metalink: async () => (await import('./commands/metalink.ts')).metalinkCommand,
    completion: async () => (await import('./commands/completion.ts')).completionCommand,
    [COMPLETE]: async () => (await import('./commands/completion.ts')).completeCommand,
  },
};

/**
 * Builds the program; nothing runs before it parses its arguments.
 *
 * @param words words to parse. If they name a command, the program has no other; without words it
 * has all
 */
export async function buildProgram(
  context: CliContext,
  words: readonly string[] = [],
): Promise<Command> {
  const program = new Command('millrace')
    .description('Downloads large files fast, safely, and resumably')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help');
  const wanted = wantedNames(words);
  for (const [group, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(group);
    for (const [name, load] of Object.entries(commands)) {
      if (!wanted.has(name)) continue;
      program.addCommand((await load())(context, program), { hidden: name === COMPLETE });
    }
  }
  program.helpCommand('help [command]', 'print help for a command');
  program.addHelpText(
    'after',
    '\nmillrace help COMMAND describes a command in full.\nmillrace --remote URL COMMAND uses the daemon of another machine, after "millrace --remote URL pair".',
  );
  for (const command of everyCommand(program)) {
    // Set for each command: added commands inherit nothing.
    command.exitOverride().configureHelp({ showGlobalOptions: false });
    command.allowExcessArguments(false).showSuggestionAfterError(true);
    if (!(command instanceof OtherProgram)) command.helpOption('-h, --help', 'print help');
    if (!(command instanceof OtherProgram) && command !== program) addVersion(command);
    command.configureOutput({ outputError: (text, write) => write(withoutValue(text)) });
    if (command !== program && command.commands.length > 0) refuseUnknown(command);
  }
  return program;
}

/** Makes a command print the version when asked; its help does not list the option. */
function addVersion(command: Command): void {
  command.version(VERSION, '-V, --version', 'print the version');
  command.options.find(({ long }) => long === '--version')?.hideHelp();
}

/**
 * Shortens commander's message about a bad option to the part without its value, which may be a
 * password.
 */
function withoutValue(text: string): string {
  return text
    .replace(
      /^(error: option '[^']*') (?:argument|value) '.*'( from env '\w+')? is invalid\. /s,
      '$1$2: ',
    )
    .replace(
      /^error: command-argument value '.*' is invalid for argument '([^']*)'\. /s,
      'error: $1: ',
    );
}

/**
 * Returns the names of the commands that the words can be about: all, unless they name a known one.
 */
function wantedNames(words: readonly string[]): ReadonlySet<string> {
  const all = new Set(Object.values(GROUPS).flatMap((commands) => Object.keys(commands)));
  const [name = ''] = words;
  if (name !== COMPLETE) return all.has(name) ? new Set([name]) : all;
  // In "__complete -- NAME ...", a NAME that is still being typed can become any command.
  const [, , asked = '', ...more] = words;
  return more.length > 0 && all.has(asked) ? new Set([COMPLETE, asked]) : all;
}

/**
 * Refuses a mistyped word after a group of commands. The group's default command would take the
 * word for an argument, and refuse it without naming the word that was probably meant.
 */
function refuseUnknown(group: Command): void {
  group.hook('preSubcommand', ({ args, commands }) => {
    const [word] = args;
    if (word === undefined || word.startsWith('-') || word === 'help') return;
    if (commands.some((sub) => sub.name() === word)) return;
    (group as unknown as { unknownCommand(): never }).unknownCommand();
  });
}

/** Returns a command and all commands below it. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
