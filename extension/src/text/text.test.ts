import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { translationFaults } from '@millrace/shared/testing/catalogues';
import { LANGUAGES } from '@millrace/shared/text/language';
import { manifest } from '../manifest.mjs';
import { CATALOGUES, textFor } from './text.ts';

describe('catalogues', () => {
  test.each(LANGUAGES)('%s has all texts of English, with the same placeholders', (language) => {
    expect(translationFaults(CATALOGUES.en, language, CATALOGUES[language])).toEqual([]);
  });

  test.each(['chromium', 'firefox'])(
    'every permission that is requested from %s is explained',
    (name) => {
      const { permissions, host_permissions } = manifest(name, '1.0.0', () => true) as {
        permissions: string[];
        host_permissions: string[];
      };
      const explained = Object.keys(CATALOGUES.en);
      for (const permission of [...permissions, ...host_permissions]) {
        expect(explained).toContain(`permission.${permission}`);
      }
    },
  );
});

interface Message {
  readonly message: string;
  readonly placeholders?: Readonly<Record<string, { readonly content: string }>>;
}

test.each(LANGUAGES)('the browser’s own strings in %s match those in English', (language) => {
  const read = (name: string): Record<string, Message> => {
    const file = new URL(`../../public/_locales/${name}/messages.json`, import.meta.url);
    return JSON.parse(readFileSync(file, 'utf8'));
  };
  const [en, translated] = [read('en'), read(language)];
  expect(Object.keys(translated)).toEqual(Object.keys(en));
  for (const [key, { message, placeholders = {} }] of Object.entries(en)) {
    const values = (text: string) => (text.match(/\$\w+\$/g) ?? []).sort();
    const other = translated[key] as Message;
    expect({ key, values: values(other.message) }).toEqual({ key, values: values(message) });
    expect(other.placeholders ?? {}).toEqual(placeholders);
    expect(values(message)).toEqual(Object.keys(placeholders).map((n) => `$${n.toUpperCase()}$`));
  }
});

test('the language is the first of the browser’s languages that has texts', () => {
  expect(textFor(['fr-FR', 'de-AT', 'en']).t('options.title')).toBe('Einstellungen');
  expect(textFor(['fr-FR']).t('options.title')).toBe('Options');
  expect(textFor(['en-GB']).locale).toBe('en-GB');
});
