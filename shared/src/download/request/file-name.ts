/**
 * Makes names for downloaded files. Any name that the user or a stranger gives becomes one that can
 * exist on every file system and never leaves the target folder. Beyond that the rule depends on who
 * names the file. Users may name anything. Strangers (servers, pages, lists, descriptions) may not
 * hide a file or its kind, and may not name files that a file manager or the system reads by itself.
 */

import { DEVICE_NAME, harmOfName, SHORT_NAME } from './harmful-name.ts';

/** Longest name in bytes of UTF-8: file systems allow 255; suffixes of partial files need room. */
const MAX_NAME_BYTES = 200;
const FALLBACK = 'download';
/** Extension of files whose own extension would do harm. */
const HARMLESS = '.download';

/** Separators, characters that Windows forbids, control characters. */
const FORBIDDEN = /[/\\:*?"<>|\x00-\x1f\x7f-\x9f]/g;
/**
 * Invisible and direction-changing characters, with which `gnp.exe` can look like `exe.png`, and
 * code points that are not characters.
 */
const DECEPTIVE =
  /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff0-\uffff\u{e0000}-\u{e0fff}]/gu;
/** Blanks that push the extension out of sight. */
const PADDING = /[\s\u2800]{4,}/g;

/**
 * Makes a safe name from one that a stranger has given.
 *
 * @param name from Content-Disposition, a URL, a list or a description; anything at all
 * @returns a name of 1 to 200 bytes without folder parts
 */
export function safeFileName(name: string): string {
  // Letters and accents between which something invisible stood become one character.
  const visible = lastPart(name).replace(DECEPTIVE, '').normalize('NFC').replace(FORBIDDEN, '_');
  // Leading dots hide a file.
  const shown = visible
    .trim()
    .replace(PADDING, ' ')
    .replace(/^[.\s\u2800]+/, '');
  let safe = shorten(withoutHiddenEnd(shown), MAX_NAME_BYTES);
  if (SHORT_NAME.test(safe)) safe = safe.replaceAll('~', '_');
  // A shell takes names that begin so for options and home folders, an office program for its own.
  if (/^[-~]/.test(safe) || DEVICE_NAME.test(safe) || harmOfName(safe) === 'name') {
    safe = `_${shorten(safe, MAX_NAME_BYTES - 1)}`;
  }
  if (harmOfName(safe) === undefined) return safe || FALLBACK;
  return shorten(safe, MAX_NAME_BYTES - HARMLESS.length) + HARMLESS;
}

/**
 * Makes a name from one that the user has given: only what no file can be called is changed.
 *
 * @returns a name of 1 to 200 bytes without folder parts
 */
export function possibleFileName(name: string): string {
  let possible = withoutEnd(lastPart(name).replace(FORBIDDEN, '_').trim());
  if (DEVICE_NAME.test(possible)) possible = `_${possible}`;
  return shorten(possible, MAX_NAME_BYTES) || FALLBACK;
}

/** A name that looks like a path is read as one: only its last part counts. */
function lastPart(name: string): string {
  const whole = name.toWellFormed().normalize('NFC');
  return whole.slice(1 + Math.max(whole.lastIndexOf('/'), whole.lastIndexOf('\\')));
}

/** Returns the name in a URL's path, decoded and made safe; `download` if the path has none. */
export function nameFromUrl(url: string): string {
  const path = new URL(url).pathname;
  const last = path.slice(path.lastIndexOf('/') + 1);
  let decoded = last;
  try {
    decoded = decodeURIComponent(last);
  } catch {
    // The escapes are not UTF-8: keep the name as it is written.
  }
  return safeFileName(decoded);
}

/** Cuts a name that is too long, keeping its extension and whole characters. */
function shorten(name: string, most: number): string {
  if (utf8Bytes(name) <= most) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && utf8Bytes(name.slice(dot)) <= 32 ? name.slice(dot) : '';
  let stem = '';
  let room = most - utf8Bytes(extension);
  for (const char of name.slice(0, name.length - extension.length)) {
    room -= utf8Bytes(char);
    if (room < 0) break;
    stem += char;
  }
  // The cut may leave dots or blanks at the end, which a name cannot have.
  return extension === '' ? withoutHiddenEnd(stem) : stem.trimEnd() + extension;
}

/** As `withoutEnd`. File managers also hide names that end in a tilde: it becomes an underscore. */
function withoutHiddenEnd(name: string): string {
  let end = withoutEnd(name);
  if (!end.endsWith('~')) return end;
  while (end.endsWith('~')) end = withoutEnd(end.slice(0, -1));
  return `${end}_`;
}

/** Strips dots and blanks at the end, in linear time: a regular expression takes quadratic time. */
function withoutEnd(name: string): string {
  let end = name.length;
  while (end > 0 && /[.\s\u2800]/.test(name[end - 1] as string)) end--;
  return name.slice(0, end);
}

function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
