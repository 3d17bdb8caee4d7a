import { expect, test } from '@jest/globals';
import { translationFaults } from '@millrace/shared/testing/catalogues';
import { LANGUAGES } from '@millrace/shared/text/language';
import { CATALOGUES, wordsFor } from './words.ts';

test.each(LANGUAGES)('%s has all texts of English, with the same placeholders', (language) => {
  expect(translationFaults(CATALOGUES.en, language, CATALOGUES[language])).toEqual([]);
});

test('the language is the first known one of the tags, and English if none is known', () => {
  expect(wordsFor(['xx', 'de_AT', 'en']).t('cancel')).toBe('Abbrechen');
  expect(wordsFor(['system', 'fr']).t('cancel')).toBe('Cancel');
  // The menu is drawn again only for another object.
  expect(wordsFor(['de-CH'])).toBe(wordsFor(['de']));
});
