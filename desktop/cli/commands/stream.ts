/** `millrace stream`: plays a file while it is being downloaded. */

import { Command } from 'commander';
import { action, type CliContext, type Report } from '../console/context.ts';
import { withDaemon } from '../console/daemon-link.ts';
import { startPlayer } from '../console/player.ts';
import { addRequestOptions } from '../options/request-options.ts';
import { splitWords } from '../text/words.ts';
import type { StreamOptions } from './stream-run.ts';

/** An id as "millrace list" shows it; no host has such a name. */
const ID = /^[0-9a-f]{6,16}$/i;

export function streamCommand(context: CliContext): Command {
  return addRequestOptions(
    new Command('stream')
      .description('play a file while it is being downloaded')
      .argument(
        '<url-or-id>',
        'what to play: a URL, an exNode (*.exnode), or the id of a download of the daemon',
      ),
    'the current one',
  )
    .option(
      '--player <command>',
      'player to start, such as mpv or "vlc --fullscreen"; {playlist} or {url} marks the place of the address',
    )
    .option('--print-url', 'print only the address to open')
    .option('--no-keep', 'delete the file at the end')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      `
Without --player the address is printed: open it in any player on this machine, until
Ctrl-C. The part that is played next is fetched first, also after seeking. The file is
kept in the folder, as with "get"; the same command continues an interrupted download,
unless the source sends the file in one piece.

Whoever has the address can read the file, and all users of a machine can read command
lines: mpv and VLC get a playlist that only you can read. Any other program, such as a
script, gets the address as its last argument. Write {playlist} in the command for the
path of the playlist, {url} for the address; a script also finds the address in
MILLRACE_STREAM_URL, where nobody else can read it.`,
    )
    .action(
      action<StreamOptions, [string]>(context, async (report, options, text) => {
        if (ID.test(text)) return playDownload(context, report, options, text.toLowerCase());
        // Imported here: the other commands start faster without the engine.
        const { StreamRun } = await import('./stream-run.ts');
        const { engineDownload } = await import('../../engine/daemon/engine-download.ts');
        return new StreamRun(context, report, options, engineDownload(context.state)).run(text);
      }),
    );
}

/** Prints the address of a stream that the daemon serves, and starts the player if one is given. */
async function playDownload(
  { state, signal }: CliContext,
  report: Report,
  { player }: StreamOptions,
  gid: string,
): Promise<undefined> {
  const command = player === undefined ? undefined : splitWords(player);
  const { url } = await withDaemon({ state }, (daemon) => daemon.call('millrace.stream', { gid }));
  report.result({ event: 'stream', url }, () => [url]);
  if (command === undefined) return;
  const playing = await startPlayer(command, url);
  const close = () => void playing.close();
  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();
  try {
    await playing.ended;
  } finally {
    signal.removeEventListener('abort', close);
    await playing.close();
  }
}
