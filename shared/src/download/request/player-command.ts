/**
 * How a media player is told what to play. All users of a machine can read the command lines of its
 * processes, and the address of a stream is its password: players that are known to read playlists
 * get the name of a file that contains the address.
 */

/** Placeholder for the address itself in a command: its author accepts that others can see it. */
export const URL_PLACE = '{url}';
/** Stands for the name of a file with the address, a playlist (M3U). */
export const PLAYLIST_PLACE = '{playlist}';

/**
 * Players that play a playlist given as their last argument. Excluded are those that hand it to
 * another process of theirs and end: the file would be gone before that process has read it.
 */
const READ_PLAYLISTS: ReadonlySet<string> = new Set(['mpv', 'vlc', 'cvlc', 'nvlc', 'qvlc']);

/**
 * The arguments of a player with a placeholder: as the last one, unless the command has a
 * placeholder itself. Unknown programs, such as scripts, get the address.
 *
 * @param command program and arguments
 */
export function placesOf([program = '', ...args]: readonly string[]): string[] {
  if (args.some((arg) => arg.includes(URL_PLACE) || needsPlaylist([arg]))) return args;
  const name = program.replace(/^.*[/\\]/, '').replace(/\.exe$/i, '');
  return [...args, READ_PLAYLISTS.has(name.toLowerCase()) ? PLAYLIST_PLACE : URL_PLACE];
}

/** Whether a playlist has a place in arguments. */
export function needsPlaylist(args: readonly string[]): boolean {
  return args.some((arg) => arg.includes(PLAYLIST_PLACE));
}

/**
 * Fills the placeholders.
 *
 * @param playlist path of the file; undefined where it has no place
 */
export function fillPlaces(
  args: readonly string[],
  url: string,
  playlist: string | undefined,
): string[] {
  // By functions: "$&" in a path is no pattern.
  return args.map((arg) =>
    arg.replaceAll(/\{(url|playlist)\}/g, (place) =>
      place === URL_PLACE ? url : (playlist ?? place),
    ),
  );
}

/** A playlist of one address (M3U). @param url canonical: without line ends */
export function playlistOf(url: string): string {
  return `#EXTM3U\n${url}\n`;
}
