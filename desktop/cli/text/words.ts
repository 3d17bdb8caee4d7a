/** Splits command lines into words. */

import { UsageError } from './option-values.ts';

/**
 * Splits a command at white space, and honours quotes; other shell syntax has no meaning.
 *
 * @throws UsageError for a quote without an end, or no words
 */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (const char of text) {
    if (quote !== '') {
      if (char === quote) quote = '';
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + char;
    }
  }
  if (quote !== '') throw new UsageError(`a ${quote} has no end in ${text}`);
  if (word !== undefined) words.push(word);
  if (words.length === 0) throw new UsageError('a command is needed');
  return words;
}
