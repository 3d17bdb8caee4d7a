/** Finds the words that are valid at a place on the command line, from the program's commands. */

import type { Command, Option } from 'commander';

interface Candidate {
  readonly text: string;
  /** Short description; may be empty. */
  readonly about: string;
}

/** Words that the shell offers for the word under the cursor. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Other completions that the shell adds. */
  readonly also: 'files' | 'folders' | 'ids' | 'nothing';
}

const NOTHING: Completion = { candidates: [], also: 'nothing' };

/**
 * Returns the words that complete the last one.
 *
 * @param words the words after the program's name; the last is being typed, and may be empty
 */
export function complete(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? '';
  let command = program;
  let position = 0;
  let expecting: Option | undefined;
  let optionsOver = false;
  for (const word of words.slice(0, -1)) {
    if (expecting !== undefined) {
      expecting = undefined;
    } else if (!optionsOver && word === '--') {
      optionsOver = true;
    } else if (!optionsOver && word.startsWith('-') && word !== '-') {
      expecting = takesValue(command, word);
    } else if (position > 0 || word !== 'help' || command.commands.length === 0) {
      // "help" is skipped: the words after it are valid in its place.
      const next = position === 0 ? named(command, word) : undefined;
      if (next !== undefined) command = next;
      else position++;
    }
  }
  if (expecting !== undefined) return optionValues(expecting, current, '');
  const assigned = /^(--[^=]+)=(.*)$/s.exec(current);
  if (!optionsOver && assigned !== null) {
    const option = findOption(command, assigned[1] as string);
    return option === undefined
      ? NOTHING
      : optionValues(option, assigned[2] as string, `${assigned[1]}=`);
  }
  if (!optionsOver && current.startsWith('-')) {
    return { candidates: matching(current, flags(command)), also: 'nothing' };
  }
  return argumentsOf(command, position, current);
}

/** Returns every word that is valid where a command's arguments are expected. */
function argumentsOf(command: Command, position: number, current: string): Completion {
  const subcommands = position === 0 ? visible(command) : [];
  const declared = effective(command).registeredArguments;
  const argument = declared[position] ?? (declared.at(-1)?.variadic ? declared.at(-1) : undefined);
  const choices = (argument?.argChoices ?? []).map((text) => ({ text, about: '' }));
  const candidates = matching(current, [...subcommands, ...choices]);
  const name = argument?.name() ?? '';
  // Only the daemon knows the ids.
  if (name === 'id' || name === 'url-or-id') return { candidates, also: 'ids' };
  return { candidates, also: name.includes('file') ? 'files' : 'nothing' };
}

function optionValues(option: Option, current: string, prefix: string): Completion {
  const candidates = (option.argChoices ?? []).map((text) => ({ text: prefix + text, about: '' }));
  const value = /[<[]([^>\]]*)[>\]]/.exec(option.flags)?.[1] ?? '';
  const also = value.includes('folder') ? 'folders' : value.includes('file') ? 'files' : 'nothing';
  return { candidates: matching(prefix + current, candidates), also };
}

function matching(current: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ text }) => text.startsWith(current));
}

function visible(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((sub) => ({ text: sub.name(), about: sub.summary() || sub.description() }));
}

/** Returns the options of a command and of its default subcommand. */
function flags(command: Command): Candidate[] {
  const options = [...new Set([command, effective(command)])].flatMap((c) =>
    c.createHelp().visibleOptions(c),
  );
  const all = options.map(({ long, short, description }) => ({
    text: long ?? short ?? '',
    about: description,
  }));
  return all.filter(({ text }, i) => all.findIndex((other) => other.text === text) === i);
}

function named(command: Command, word: string): Command | undefined {
  return command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
}

/** Returns the default subcommand of a group, or the command itself. */
function effective(command: Command): Command {
  const name = (command as unknown as { _defaultCommandName: string | null })._defaultCommandName;
  return (name == null ? undefined : named(command, name)) ?? command;
}

function findOption(command: Command, flag: string): Option | undefined {
  const all = [...command.options, ...effective(command).options];
  return all.find((option) => option.long === flag || option.short === flag);
}

/** Returns the option whose value the next word is, if there is one. */
function takesValue(command: Command, flag: string): Option | undefined {
  const option = findOption(command, flag);
  return option !== undefined && (option.required || option.optional) ? option : undefined;
}
