/** Errors of downloads and their remedies in the reader's language: one entry per error code. */

import type { ErrorCode } from '../base/errors.ts';
import de from './errors-de.json' with { type: 'json' };
import en from './errors-en.json' with { type: 'json' };
import type { Language } from './language.ts';

export interface ErrorWords {
  /** A few words, as shown in the list; no full stop. */
  readonly title: string;
  /** A remedy for the reader; a sentence or two. */
  readonly help: string;
}

export const ERROR_WORDS: Readonly<Record<Language, Readonly<Record<ErrorCode, ErrorWords>>>> = {
  en,
  de,
};

/** The words for an error; its own message where the code is of another version. */
export function errorWords(
  language: Language,
  error: { readonly code: string; readonly message?: string; readonly advice?: string },
): ErrorWords {
  const known = ERROR_WORDS[language][error.code as ErrorCode] as Partial<ErrorWords> | undefined;
  // Members that every object has are no entries.
  if (known?.title !== undefined) return known as ErrorWords;
  return { title: error.message ?? error.code, help: error.advice ?? '' };
}
