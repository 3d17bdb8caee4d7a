/** Errors and remedies in the reader's language. */

import type { ErrorCode } from '../base/errors.ts';
import { errorsDe } from './errors-de.ts';
import { type ErrorWords, errorsEn } from './errors-en.ts';
import type { Language } from './language.ts';

export const ERROR_WORDS: Readonly<Record<Language, Readonly<Record<ErrorCode, ErrorWords>>>> = {
  en: errorsEn,
  de: errorsDe,
};

/** The words for an error; its own where the code is of another version. */
export function errorWords(
  language: Language,
  error: { readonly code: string; readonly message?: string; readonly advice?: string },
): ErrorWords {
  const known = ERROR_WORDS[language][error.code as ErrorCode] as Partial<ErrorWords> | undefined;
  // Members that every object has are no entries.
  if (known?.title !== undefined) return known as ErrorWords;
  return { title: error.message ?? error.code, help: error.advice ?? '' };
}
