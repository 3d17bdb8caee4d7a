/** Compares names and links with patterns in which `*` stands for any characters, or for none. */

/**
 * Returns true if a pattern stands for a whole text, with regard to case. The time grows with the
 * product of both lengths at most.
 *
 * @param one character of patterns that stands for any one character. Absent: none does, as in
 *   patterns of URLs, where `?` is a character like others
 */
export function fitsWildcards(text: string, pattern: string, one?: string): boolean {
  // Of a character outside the basic plane, one character of a pattern is to stand for both halves.
  const [given, wanted] = one === undefined ? [text, pattern] : [[...text], [...pattern]];
  let at = 0;
  let next = 0;
  /** Places to go back to: the last star, and the end of what it stands for so far. */
  let star = -1;
  let starEnd = 0;
  while (at < given.length) {
    if (wanted[next] === '*') {
      star = next++;
      starEnd = at;
    } else if (next < wanted.length && (wanted[next] === one || wanted[next] === given[at])) {
      at++;
      next++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++starEnd;
    } else return false;
  }
  while (wanted[next] === '*') next++;
  return next === wanted.length;
}

/**
 * Returns true if a name fits a pattern, without regard to case. With `*` (any characters) or `?`
 * (one character), the pattern stands for the whole name; otherwise it is a part of the name.
 */
export function fitsPattern(name: string, pattern: string): boolean {
  const [own, wanted] = [name.toLowerCase(), pattern.toLowerCase()];
  return /[*?]/.test(wanted) ? fitsWildcards(own, wanted, '?') : own.includes(wanted);
}
