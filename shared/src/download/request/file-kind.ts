/**
 * Kinds of files that are only shown when they are opened. The user is asked before a file of any
 * other kind is opened: kinds that run as programs differ between systems, and new ones come every
 * year.
 */

/** Extensions of pictures, sound, films, text, archives and fonts that no common program runs. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['jpg', 'jpeg', 'png', 'gif', 'webp', 'avif', 'heic', 'bmp', 'tif', 'tiff', 'ico'],
  ...['mp3', 'm4a', 'aac', 'flac', 'ogg', 'oga', 'opus', 'wav', 'wma', 'aiff', 'mid', 'midi'],
  ...['mp4', 'm4v', 'mkv', 'webm', 'mov', 'avi', 'mpg', 'mpeg', 'ogv', 'wmv', 'flv', 'ts', '3gp'],
  ...['srt', 'vtt', 'ass', 'sub'],
  ...['txt', 'md', 'log', 'csv', 'tsv', 'json', 'yaml', 'yml', 'nfo', 'pdf', 'epub', 'djvu'],
  ...['docx', 'xlsx', 'pptx', 'odt', 'ods', 'odp', 'rtf'],
  ...['zip', 'tar', 'gz', 'tgz', 'bz2', 'tbz2', 'xz', 'txz', 'zst', '7z', 'rar', 'lz', 'lzma'],
  ...['ttf', 'otf', 'woff', 'woff2', 'torrent', 'meta4', 'metalink', 'sha256', 'md5', 'asc', 'sig'],
]);

/**
 * Returns true if the user should be asked before the file is opened: for all files, including
 * those without an extension, except the kinds that are known to be only shown.
 *
 * @param path or name, of any system
 */
export function mayRun(path: string): boolean {
  // Windows ignores dots and blanks at the end; a colon begins the name of an alternate stream.
  const last = path.split(/[/\\]/).pop() as string;
  const name = last.replace(/[. ]+$/, '').toLowerCase();
  const dot = name.lastIndexOf('.');
  return dot < 0 || name.includes(':') || !SHOWN.has(name.slice(dot + 1));
}
