/**
 * Recognizes names of files that do harm without being opened: a file manager or the system reads
 * such files by itself, as soon as their folder is shown or a medium is inserted. Users may name
 * their files so; strangers may not.
 */

/**
 * Names of devices on Windows, whatever their extension. Windows drops blanks before the extension,
 * and reads a colon as its beginning. Digits are also superscript ones, written as escapes: bundles
 * of ASCII alone take half the memory.
 */
export const DEVICE_NAME =
  /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])\s*(?:[.:]|$)/i;
/** Names that Windows may give to other files as short names, as `MILLRA~1` to `.millrace-sync`. */
export const SHORT_NAME = /^[^.]{0,7}~[0-9]{1,6}(?:\.[^.]{0,3})?$/;

/** Files that describe their folder or medium: icons, programs to start, views, thumbnails. */
const FOLDER_FILE =
  /^(?:desktop\.ini|autorun\.inf|folder\.htt|(?:ehthumbs(?:_vista)?|thumbs)\.db)$/;
/**
 * Kinds whose icon, target or contents Explorer reads while it shows the folder, from a server of
 * the stranger's choice, to which it sends the user's log-in.
 */
const SHOWN_BY_WINDOWS =
  /\.(?:lnk|url|website|scf|pif|library-ms|search-ms|searchconnector-ms|appref-ms|settingcontent-ms|mapimail|mydocs|deskthemepack|themepack|theme|contact)$/;
/** Kinds whose icon and title desktops of Linux and macOS read while they show the folder. */
const SHOWN_ELSEWHERE = /\.(?:desktop|directory|webloc|inetloc|fileloc|ftploc|afploc|mailloc)$/;
/** Identifiers of classes that Explorer takes for an extension, which it hides. */
const CLASS_ID = /\.\{[^{}]*\}$/;
/** Files that Windows reads when the program beside them starts: other libraries, other settings. */
const BESIDE_A_PROGRAM = /\.(?:local|(?:exe|dll|msi|com|scr|cpl)\.(?:manifest|config))$/;
/** Millrace's own files beside an unfinished download, which it reads when that goes on. */
const OWN = /\.millrace-[a-z]+(?:\.new)?$/;

/** How a name does harm: all of it, or its extension. */
export type NameHarm = 'name' | 'extension';

/**
 * Finds how a file does harm by its name alone.
 *
 * @param name last part of a path, without dots and blanks at the end
 * @returns undefined if it does none
 */
export function harmOfName(name: string): NameHarm | undefined {
  // Systems that ignore case compare upper-case letters: `ı` is then an `I`.
  const key = name.toUpperCase().toLowerCase();
  if (FOLDER_FILE.test(key)) return 'name';
  const harmful = [SHOWN_BY_WINDOWS, SHOWN_ELSEWHERE, CLASS_ID, BESIDE_A_PROGRAM, OWN];
  return harmful.some((pattern) => pattern.test(key)) ? 'extension' : undefined;
}

/** Returns true if Explorer or Windows reads a file of that name by itself. */
export function isReadByWindows(name: string): boolean {
  const key = name.toUpperCase().toLowerCase();
  return [FOLDER_FILE, SHOWN_BY_WINDOWS, CLASS_ID].some((pattern) => pattern.test(key));
}
