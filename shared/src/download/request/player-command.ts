/**
 * Commands that tell a media player what to play. All users of a machine can read the command lines
 * of its processes, and the address of a stream is its password: players that are known to read
 * playlists get the name of a file with the address in it.
 */

/** Placeholder in a command for the address itself, which other users can then see. */
const URL_PLACE = '{url}';
/** Placeholder in a command for the name of a playlist (M3U) with the address. */
const PLAYLIST_PLACE = '{playlist}';

/**
 * Players that play a playlist given as their last argument. Players that hand the playlist to
 * another process and exit are left out: the file would be gone before that process read it.
 */
const READ_PLAYLISTS: ReadonlySet<string> = new Set(['mpv', 'vlc', 'cvlc', 'nvlc', 'qvlc']);

/**
 * Returns the arguments of a player with a placeholder. It is appended unless the arguments already
 * have one. Unknown programs, such as scripts, get the address.
 *
 * @param command program and arguments
 */
export function placesOf([program = '', ...args]: readonly string[]): string[] {
  if (args.some((arg) => arg.includes(URL_PLACE) || needsPlaylist([arg]))) return args;
  const name = program.replace(/^.*[/\\]/, '').replace(/\.exe$/i, '');
  return [...args, READ_PLAYLISTS.has(name.toLowerCase()) ? PLAYLIST_PLACE : URL_PLACE];
}

/** Returns true if the arguments have the placeholder of a playlist. */
export function needsPlaylist(args: readonly string[]): boolean {
  return args.some((arg) => arg.includes(PLAYLIST_PLACE));
}

/**
 * Replaces the placeholders.
 *
 * @param playlist path of the playlist file; undefined if the arguments have no placeholder for it
 */
export function fillPlaces(
  args: readonly string[],
  url: string,
  playlist: string | undefined,
): string[] {
  // A function, so that "$&" in a path is not taken as a pattern.
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
