/** `millrace stream`: plays a file while it is being downloaded. */

import { Command } from 'commander';
import { action, type CliContext } from '../context.ts';
import { addRequestOptions } from '../request-options.ts';
import type { StreamOptions } from './stream-run.ts';

export function streamCommand(context: CliContext): Command {
  return addRequestOptions(
    new Command('stream')
      .description('play a file while it is being downloaded')
      .argument('<url>', 'what to play'),
  )
    .option('--player <command>', 'player to start, such as mpv or "vlc --fullscreen"')
    .option('--print-url', 'print nothing but the address to open')
    .option('--no-keep', 'delete the file at the end')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      `
Without --player the address is printed: open it in any player on this machine, until
Ctrl-C. What is played, also after seeking, is fetched first. The file is kept in the
folder, as with "get"; interrupted, the same command goes on with it.`,
    )
    .action(
      action<StreamOptions, [string]>(context, async (report, options, text) => {
        // Loaded here: the other commands start faster without the engine.
        const { StreamRun } = await import('./stream-run.ts');
        const { engineDownload } = await import('../../engine/daemon/engine-download.ts');
        return new StreamRun(context, report, options, engineDownload).run(text);
      }),
    );
}
