/** The languages that the interfaces speak, and which of them a reader is shown. */

export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

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
