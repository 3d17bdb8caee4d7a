/**
 * Makes names for downloaded files from the names that servers send. Such a name never leaves the
 * target folder, never hides the kind of file, and can exist on every file system.
 */

/** Longest name in bytes of UTF-8: file systems allow 255; suffixes of partial files need room. */
const MAX_NAME_BYTES = 200;
const FALLBACK = 'download';

/** Separators, characters that Windows forbids, control characters. */
const FORBIDDEN = /[/\\:*?"<>|\x00-\x1f\x7f-\x9f]/g;
/** Invisible and direction-changing characters, with which `gnp.exe` can look like `exe.png`. */
const DECEPTIVE = /[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff0-\uffff]/g;
/** Names of devices on Windows, whatever their extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/**
 * Makes a safe name from a server-sent one.
 *
 * @param name from Content-Disposition or a URL; anything at all
 * @returns a name of 1 to 200 bytes without folder parts
 */
export function safeFileName(name: string): string {
  // A name that looks like a path is read as one: only its last part counts.
  const whole = name.toWellFormed().normalize('NFC');
  const last = whole.slice(1 + Math.max(whole.lastIndexOf('/'), whole.lastIndexOf('\\')));
  let safe = last.replace(DECEPTIVE, '').replace(FORBIDDEN, '_').trim();
  // Leading dots hide a file, trailing dots and spaces vanish on Windows.
  safe = withoutEnd(safe.replace(/^[.\s]+/, ''));
  if (DEVICE.test(safe)) safe = `_${safe}`;
  return shorten(safe) || FALLBACK;
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
function shorten(name: string): string {
  if (utf8Bytes(name) <= MAX_NAME_BYTES) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && utf8Bytes(name.slice(dot)) <= 32 ? name.slice(dot) : '';
  let stem = '';
  let room = MAX_NAME_BYTES - utf8Bytes(extension);
  for (const char of name.slice(0, name.length - extension.length)) {
    room -= utf8Bytes(char);
    if (room < 0) break;
    stem += char;
  }
  // The cut may leave dots or blanks at the end, which a name cannot have.
  return extension === '' ? withoutEnd(stem) : stem.trimEnd() + extension;
}

/** Strips dots and blanks at the end, in linear time: a regular expression takes quadratic time. */
function withoutEnd(name: string): string {
  let end = name.length;
  while (end > 0 && /[.\s]/.test(name[end - 1] as string)) end--;
  return name.slice(0, end);
}

function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
