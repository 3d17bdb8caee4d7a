import { describe, expect, test } from '@jest/globals';
import type { CliContext } from '../console/context.ts';
import { buildProgram, everyCommand } from '../program.ts';
import { complete } from './model.ts';
import { completionScript, SHELLS } from './scripts.ts';

// No command runs, so nothing reads the context.
const program = await buildProgram({} as CliContext);

function candidates(...words: string[]): string[] {
  return complete(program, words).candidates.map(({ text }) => text);
}

describe('completion', () => {
  test('offers commands, except those for scripts', () => {
    expect(candidates('')).toEqual(expect.arrayContaining(['get', 'add', 'list', 'help']));
    expect(candidates('')).not.toContain('__complete');
    expect(candidates('li')).toEqual(['list', 'limit']);
    expect(candidates('help', 'li')).toEqual(['list', 'limit']);
    expect(candidates('daemon', '')).toEqual(['start', 'stop', 'status', 'account', 'help']);
  });

  test('offers the options of the command, including those of its default subcommand', () => {
    expect(candidates('list', '--s')).toEqual(['--search']);
    expect(candidates('ls', '--s')).toEqual(['--search']);
    expect(candidates('daemon', '--de')).toEqual(['--detach']);
    expect(candidates('daemon', 'start', '--de')).toEqual(['--detach']);
    expect(candidates('get', '--', '--s')).toEqual([]);
  });

  test('offers the values that an option accepts', () => {
    expect(candidates('export', '--format', '')).toEqual(['json', 'urls', 'aria2']);
    expect(candidates('export', '--format=u')).toEqual(['--format=urls']);
    expect(candidates('export', '--format', 'urls', '--which', 'q')).toEqual(['queue']);
    expect(candidates('export', '--nonsense=')).toEqual([]);
  });

  test('offers arguments by their position', () => {
    expect(candidates('list', '')).toEqual(['all', 'active', 'waiting', 'stopped', 'expired']);
    expect(candidates('list', '--search', 'x', 'st')).toEqual(['stopped']);
    expect(candidates('list', 'all', '')).toEqual([]);
    expect(candidates('completion', '')).toEqual(['bash', 'zsh', 'fish', 'powershell']);
  });

  test.each([
    [['info', ''], 'ids'],
    [['pause', 'a1', ''], 'ids'],
    [['stream', ''], 'ids'],
    [['url', 'a1', ''], 'nothing'],
    [['get', '-d', ''], 'folders'],
    [['get', '-o', ''], 'files'],
    [['add', ''], 'files'],
    [['import', ''], 'files'],
    [['get', ''], 'files'],
    [['history', 'search', ''], 'nothing'],
    [['nonsense', ''], 'nothing'],
  ] as const)('after %j it also offers %s', (words, also) => {
    expect(complete(program, words).also).toBe(also);
  });

  test('does not fail on unusual words', () => {
    for (const words of [[], [''], ['-'], ['--'], ['--', ''], ['-x', ''], ['list', '-', '']]) {
      expect(() => complete(program, words)).not.toThrow();
    }
  });
});

describe('the program', () => {
  test('every command has a description and help', () => {
    for (const command of everyCommand(program)) {
      if (command.name() === '__complete') continue;
      expect([command.name(), command.description()]).not.toContain('');
      expect(command.helpInformation()).toContain('-h, --help');
    }
  });

  test('every command that talks to the daemon has --json', () => {
    const without = everyCommand(program)
      .filter((command) => command.commands.length === 0 && command.name() !== '__complete')
      .filter(({ options }) => !options.some(({ long }) => long === '--json'))
      .map((command) => command.name());
    // "edge start" is the edge itself, which prints a log.
    expect(without).toEqual(['start', 'completion']);
  });
});

describe('completion scripts', () => {
  test.each(SHELLS)('%s: the script calls the program by the given name', (shell) => {
    const script = completionScript(shell, 'mill-2');
    expect(script).toMatch(/mill-2 __complete ('--'|--) /);
    expect(script).not.toContain('millrace');
    // Not every shell allows a minus in the name of a function.
    expect(script).toContain('_mill_2_complete');
  });
});
