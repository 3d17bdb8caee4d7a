/** `millrace completion`: prints the scripts that shells load, and answers their questions. */

import { basename } from 'node:path';
import { Argument, Command } from 'commander';
import { complete } from '../completion/model.ts';
import { completionScript, SHELLS, type Shell } from '../completion/scripts.ts';
import type { CliContext } from '../console/context.ts';
import { withDaemon } from '../console/daemon-link.ts';
import { printable } from '../text/printable.ts';

const MAX_IDS = 50;
const ID_CHARS = 8;

export function completionCommand(context: CliContext, program: Command): Command {
  return new Command('completion')
    .description('print a script that completes commands, options and ids in a shell')
    .summary('print a completion script')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS))
    .option('--name <program>', 'name of the program in your shell', program.name())
    .addHelpText(
      'after',
      `
  bash   source <(millrace completion bash)        in ~/.bashrc
  zsh    millrace completion zsh > "\${fpath[1]}/_millrace"
  fish   millrace completion fish > ~/.config/fish/completions/millrace.fish
  powershell   millrace completion powershell | Out-String | Invoke-Expression   in $PROFILE`,
    )
    .action((shell: Shell, { name }: { name: string }) => {
      context.stdout.write(completionScript(shell, basename(name)));
    });
}

/**
 * Answers the scripts. The first line tells the shell which other completions to add; every other
 * line is a candidate, a tab, and a short description.
 */
export function completeCommand(context: CliContext, program: Command): Command {
  return new Command('__complete').argument('[word...]').action(async (words: string[]) => {
    const { candidates, also } = complete(program, words);
    const ids = also === 'ids' ? await idsOf(context, words.at(-1) ?? '') : [];
    const lines = [
      also,
      ...[...candidates, ...ids].map(({ text, about }) => `${text}\t${printable(about)}`),
    ];
    context.stdout.write(lines.map((line) => `${line}\n`).join(''));
  });
}

/** Returns ids of the daemon's downloads. Does not start a daemon for them. */
async function idsOf(context: CliContext, begin: string) {
  try {
    return await withDaemon(context, async (daemon) => {
      const page = await daemon.call('millrace.list', { limit: MAX_IDS });
      return page.downloads
        .filter(({ gid }) => gid.startsWith(begin))
        .map(({ gid, name, status }) => ({
          text: gid.slice(0, Math.max(ID_CHARS, begin.length)),
          about: `${name} (${status})`,
        }));
    });
  } catch {
    return [];
  }
}
