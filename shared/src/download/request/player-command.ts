/**
 * Commands that tell a media player what to play. All users of a machine can read the command lines
 * of its processes, and the address of a stream is its password: players that are known to read
 * playlists get the name of a file with the address in it.
 */

/** Placeholder in a command for the address itself, which shows the address to other users. */
export const URL_PLACE = '{url}';
/** Placeholder in a command for the name of a playlist (M3U) with the address. */
export const PLAYLIST_PLACE = '{playlist}';

/**
 * Players that play a playlist given as their last argument. Players that hand it to another
 * process and end are left out: the file would be gone before that process had read it.
 */
const READ_PLAYLISTS: ReadonlySet<string> = new Set(['mpv', 'vlc', 'cvlc', 'nvlc', 'qvlc']);

/**
 * Returns the arguments of a player with a placeholder: the last one, unless the command has one of
 * its own. Unknown programs, such as scripts, get the address.
 *
 * @param command program and arguments
 */
export function placesOf([program = '', ...args]: readonly string[]): string[] {
  if (args.some((arg) => arg.includes(URL_PLACE) || needsPlaylist([arg]))) return args;
  const name = program.replace(/^.*[/\\]/, '').replace(/\.exe$/i, '');
  return [...args, READ_PLAYLISTS.has(name.toLowerCase()) ? PLAYLIST_PLACE : URL_PLACE];
}

/** True if the arguments have the placeholder of a playlist. */
export function needsPlaylist(args: readonly string[]): boolean {
  return args.some((arg) => arg.includes(PLAYLIST_PLACE));
}

/**
 * Replaces the placeholders.
 *
 * @param playlist path of the file; undefined if it has no placeholder
 */
export function fillPlaces(
  args: readonly string[],
  url: string,
  playlist: string | undefined,
): string[] {
  // A function, so that "$&" in a path is no pattern.
  return args.map((arg) =>
    arg.replaceAll(/\{(url|playlist)\}/g, (place) =>
      place === URL_PLACE ? url : (playlist ?? place),
    ),
  );
}

/** Writes a playlist of one address (M3U). @param url canonical: without line ends */
export function playlistOf(url: string): string {
  return `#EXTM3U\n${url}\n`;
}
