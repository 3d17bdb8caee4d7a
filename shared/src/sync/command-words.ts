/** Cuts the text of a command into its words, which no shell reads. */

import { MillraceError } from '../base/errors.ts';

/**
 * Returns the words of a command, cut at white space. A part in single or double quotes belongs to
 * its word as it is; nothing else has a meaning.
 *
 * @throws MillraceError `bad-option` for a quote without its end, and for no words at all
 */
export function commandWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [part, single, double] of text.matchAll(/'([^']*)'|"([^"]*)"|\s+|[^\s'"]+|['"]/g)) {
    const quoted = single ?? double;
    if (quoted === undefined && /^\s/.test(part)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (quoted === undefined && /^['"]$/.test(part)) {
      throw new MillraceError('bad-option', 'a quote in the command has no end');
    } else word = (word ?? '') + (quoted ?? part);
  }
  if (word !== undefined) words.push(word);
  if ((words[0] ?? '') === '') throw new MillraceError('bad-option', 'the command is missing');
  return words;
}
