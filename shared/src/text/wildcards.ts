/** Compares names with patterns as people write them. */

/**
 * Returns true if a name fits a pattern, without regard to case. With `*` (any characters) or `?`
 * (one character), the pattern stands for the whole name; otherwise it is a part of the name. The
 * time grows with the product of both lengths at most.
 */
export function fitsPattern(name: string, pattern: string): boolean {
  const text = [...name.toLowerCase()];
  const wanted = [...pattern.toLowerCase()];
  if (!wanted.includes('*') && !wanted.includes('?')) {
    return name.toLowerCase().includes(pattern.toLowerCase());
  }
  let at = 0;
  let next = 0;
  /** Places to go back to: the last star, and the character that it has swallowed so far. */
  let star = -1;
  let swallowed = 0;
  while (at < text.length) {
    if (wanted[next] === '*') {
      star = next++;
      swallowed = at;
    } else if (wanted[next] === '?' || wanted[next] === text[at]) {
      at++;
      next++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++swallowed;
    } else return false;
  }
  while (wanted[next] === '*') next++;
  return next === wanted.length;
}
