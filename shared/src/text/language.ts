/** Lists the languages of the interfaces, and chooses one for a reader. */

interface LanguageFacts {
  /** Name of the language in the language itself. */
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
}

/** The languages. Each one has its catalogue in every folder of texts. */
const TABLE = {
  en: { name: 'English', direction: 'ltr' },
  de: { name: 'Deutsch', direction: 'ltr' },
} as const satisfies Record<string, LanguageFacts>;

export type Language = keyof typeof TABLE;
export const LANGUAGE_FACTS: Readonly<Record<Language, LanguageFacts>> = TABLE;
export const LANGUAGES = Object.keys(TABLE) as readonly Language[];

/** Returns the reader's first tag for a language, with its country; else the language itself. */
export function localeFor(language: Language, preferred: readonly string[]): string {
  return preferred.find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language;
}

/**
 * Chooses the language to show; English if none fits.
 *
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
