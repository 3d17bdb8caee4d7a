/**
 * Expands a URL that stands for several: `{a,b}` for each of the words, `[01-20]` for each number,
 * with as many digits as the first one has, `[a-e]` for each letter, and `[0-90:10]` in steps. These
 * are the patterns of aria2's `--parameterized-uri` (aria2c(1)), which curl knows as well.
 */

import { TextFault } from './text-fault.ts';

/** Longest text that all URLs of a pattern may have together, in characters, without its numbers. */
const MAX_CHARS = 8_000_000;
const PART = /\{([^{}]*)\}|\[(\d{1,9}|[a-z]|[A-Z])-(\d{1,9}|[a-z]|[A-Z])(?::(\d{1,9}))?\]/g;

/**
 * Expands a pattern; the last part varies fastest. A text without patterns stands for itself.
 *
 * @param most most URLs that it may stand for
 * @throws TextFault for more URLs than that, and for a range without an end
 */
export function expandPattern(pattern: string, most: number): string[] {
  let urls = [''];
  let at = 0;
  for (const match of pattern.matchAll(PART)) {
    const between = pattern.slice(at, match.index);
    const choices = choicesOf(match, most);
    const count = urls.length * choices.length;
    if (count > most) throw tooMany(most);
    if (count * pattern.length > MAX_CHARS) {
      throw new TextFault('pattern-too-long');
    }
    urls = urls.flatMap((url) => choices.map((choice) => url + between + choice));
    at = match.index + match[0].length;
  }
  return urls.map((url) => url + pattern.slice(at));
}

/**
 * Returns true for a text with a range, such as `[01-20]`, or with a choice of words, `{a,b}`. An IPv6
 * host in brackets is neither, and a word alone in braces, as in templates, is no choice.
 */
export function isPattern(text: string): boolean {
  for (const [, words, first] of text.matchAll(PART)) {
    if (first !== undefined || words?.includes(',')) return true;
  }
  return false;
}

function choicesOf([whole, words, first = '', last = '', step]: RegExpExecArray, most: number) {
  if (words !== undefined) return words.split(',');
  const isNumber = /^\d/.test(first);
  const [from, to] = [first, last].map((end) => (isNumber ? Number(end) : end.charCodeAt(0)));
  const by = Number(step ?? 1);
  const sameKind = [/^\d+$/, /^[a-z]$/, /^[A-Z]$/].some((k) => k.test(first) && k.test(last));
  if (!sameKind || from === undefined || to === undefined || to < from || by === 0) {
    throw new TextFault('pattern-no-range', { range: whole });
  }
  const count = Math.floor((to - from) / by) + 1;
  if (count > most) throw tooMany(most);
  return Array.from({ length: count }, (_, i) => {
    const value = from + i * by;
    return isNumber ? String(value).padStart(first.length, '0') : String.fromCharCode(value);
  });
}

const tooMany = (n: number) => new TextFault('pattern-too-many', { n });
