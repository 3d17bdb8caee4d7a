/** Tells random identifiers from words, versions and dates that people wrote. */

const UUID =
  /(?:^|[^0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:[^0-9a-f]|$)/i;
/** Hexadecimal numbers with digits and letters, 64 bits and more. */
const HEX = /^(?=.*\d)(?=.*[a-f])[0-9a-f]{16,}$|^(?=.*\d)(?=.*[A-F])[0-9A-F]{16,}$/;
/** Decimal numbers longer than any that people write. */
const NUMBER = /^\d{20,}$/;

/** Shortest identifier of letters and digits that is hard to guess, in characters. */
const MIN_STRONG = 12;
/** The same, if other signs make an identifier likely. */
const MIN_WEAK = 7;
/** Fewest changes between digits, lower and upper case, per neighbouring pair: words have fewer. */
const STRONG_CHANGES = 0.36;
const WEAK_CHANGES = 0.2;
/** Shortest identifier of letters alone, in characters; longer because of names LikeThis. */
const MIN_LETTERS = 20;
const MIN_WEAK_LETTERS = 12;

/**
 * Returns true for text with a part that looks random: a UUID, a long number, or letters and digits
 * that change between cases and digits more often than in words and versions.
 *
 * @param strength `weak` if other signs make an identifier likely
 */
export function looksRandom(text: string, strength: 'strong' | 'weak' = 'strong'): boolean {
  if (UUID.test(text)) return true;
  const runs = text.split(/[^A-Za-z0-9]+/);
  // In base64url, - and _ are digits.
  const joined = /^[\w-]{20,}$/.test(text) && !/[-_].*[-_].*[-_]/.test(text);
  if (joined && isRandomRun(text.replace(/[-_]/g, ''), 'strong')) return true;
  return runs.some((run) => isRandomRun(run, strength));
}

function isRandomRun(run: string, strength: 'strong' | 'weak'): boolean {
  if (HEX.test(run) || NUMBER.test(run)) return true;
  const weak = strength === 'weak';
  if (run.length < (weak ? MIN_WEAK : MIN_STRONG)) return false;
  const hasDigit = /\d/.test(run);
  if (!/[A-Za-z]/.test(run)) return false;
  if (!hasDigit && (!/[a-z]/.test(run) || !/[A-Z]/.test(run))) return false;
  if (!hasDigit && run.length < (weak ? MIN_WEAK_LETTERS : MIN_LETTERS)) return false;
  let changes = 0;
  for (let i = 1; i < run.length; i++) if (kindOf(run[i]) !== kindOf(run[i - 1])) changes++;
  return changes >= (run.length - 1) * (weak && hasDigit ? WEAK_CHANGES : STRONG_CHANGES);
}

function kindOf(char: string | undefined): number {
  if (char === undefined || (char >= '0' && char <= '9')) return 0;
  return char >= 'a' ? 1 : 2;
}
