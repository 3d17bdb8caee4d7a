/**
 * Details of errors in the reader's language: one text per code of the table. The English texts are
 * those of the table; `details-en.json` has one only where an interface says it otherwise.
 */

import { DETAILS, type DetailCode } from '../base/error-table/details.ts';
import {
  type DetailValue,
  fillDetail,
  isDetailCode,
  type Particulars,
} from '../base/error-table/particulars.ts';
import de from './details-de.json' with { type: 'json' };
import ownEnglish from './details-en.json' with { type: 'json' };
import type { Language } from './language.ts';
import { readableBytes, type SizeWriter } from './readable-bytes.ts';

export const DETAIL_WORDS: Readonly<Record<Language, Readonly<Record<DetailCode, string>>>> = {
  en: { ...DETAILS, ...ownEnglish },
  de,
};

/** A detail as a daemon sends it. */
interface Sent {
  /** In English. */
  readonly detail: string;
  readonly particulars?: Particulars | undefined;
}

/**
 * Returns a detail in the reader's language. Free text is that of another program, and English text
 * of a newer version has no translation: other languages show both as a quotation.
 */
export function detailWords(language: Language, sent: Sent, write: SizeWriter): string {
  const { detail, particulars } = sent;
  const known = particulars && wordsOf(language, particulars, write);
  if (known !== undefined) return known;
  const text = readableBytes(detail, write);
  return language === 'en' || text === ''
    ? text
    : fillDetail(DETAIL_WORDS[language].quoted, { text }, { size: write.size, nested: String });
}

function wordsOf(
  language: Language,
  { code, values = {} }: Particulars,
  write: SizeWriter,
): string | undefined {
  if (!isDetailCode(code)) return undefined;
  const words = DETAIL_WORDS[language][code];
  const size = looksAlike(values, write) ? write.exact : write.size;
  return fillDetail(words, values, {
    size,
    nested: (inner) => wordsOf(language, inner, write) ?? inner.code,
  });
}

/** Returns true if two sizes differ, but would be written alike. */
function looksAlike(values: Readonly<Record<string, DetailValue>>, { size }: SizeWriter): boolean {
  const sizes = Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'number' && name.endsWith('Bytes') ? [value] : [],
  );
  return new Set(sizes).size > new Set(sizes.map(size)).size;
}
