/**
 * Errors of downloads and their remedies in the reader's language: one entry per error code. The
 * English titles are those of the error table; `errors-en.json` has one only where an interface
 * has to say something else, because the table speaks for an edge or in words of operators.
 */

import { ERRORS, type ErrorCode } from '../base/errors.ts';
import de from './errors-de.json' with { type: 'json' };
import ownEnglish from './errors-en.json' with { type: 'json' };
import type { Language } from './language.ts';

export interface ErrorWords {
  /** A few words without a full stop, for the list. */
  readonly title: string;
  /** A remedy for the user, in a sentence or two. */
  readonly help: string;
  /** The remedy for a file that its source sends in one piece, where `help` promises otherwise. */
  readonly onePiece?: string;
}

const en = Object.fromEntries(
  Object.entries<Partial<ErrorWords> & { readonly help: string }>(ownEnglish).map(
    ([code, words]) => [code, { title: ERRORS[code as ErrorCode]?.title, ...words }],
  ),
) as Record<keyof typeof ownEnglish, ErrorWords>;

export const ERROR_WORDS: Readonly<Record<Language, Readonly<Record<ErrorCode, ErrorWords>>>> = {
  en,
  de,
};

/** Returns the words for an error; for an unknown code, of another version, its own message. */
export function errorWords(
  language: Language,
  error: {
    readonly code: string;
    readonly message?: string;
    readonly advice?: string;
    readonly onePiece?: boolean | undefined;
  },
): ErrorWords {
  const known = ERROR_WORDS[language][error.code as ErrorCode] as Partial<ErrorWords> | undefined;
  // Built-in members of objects are not entries.
  if (known?.title !== undefined) {
    const { title, help = '', onePiece } = known;
    return { title, help: error.onePiece === true ? (onePiece ?? help) : help };
  }
  return { title: error.message ?? error.code, help: error.advice ?? '' };
}
