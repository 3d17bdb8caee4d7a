/** The languages that the interfaces speak, and which of them a reader is shown. */

interface LanguageFacts {
  /** In the language itself. */
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
}

/** A language of this table has its catalogue in every folder of texts. */
const TABLE = {
  en: { name: 'English', direction: 'ltr' },
  de: { name: 'Deutsch', direction: 'ltr' },
} as const satisfies Record<string, LanguageFacts>;

export type Language = keyof typeof TABLE;
export const LANGUAGE_FACTS: Readonly<Record<Language, LanguageFacts>> = TABLE;
export const LANGUAGES = Object.keys(TABLE) as readonly Language[];

/** The first of the reader's languages that is of a language, with its country. */
export function localeFor(language: Language, preferred: readonly string[]): string {
  return preferred.find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language;
}

/**
 * @param wanted language tag, or `system`
 * @param preferred the reader's languages, best first
 */
export function chooseLanguage(wanted: string, preferred: readonly string[]): Language {
  for (const tag of wanted === 'system' ? preferred : [wanted]) {
    const base = tag.toLowerCase().split('-')[0];
    const found = LANGUAGES.find((language) => language === base);
    if (found !== undefined) return found;
  }
  return 'en';
}
