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

const ownTexts = (language: string): string[] => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const catalogue = JSON.parse(read(`./${language}.json`)) as Record<string, string>;
  return [...Object.values(catalogue), read(`../../public/_locales/${language}/messages.json`)];
};

test.each(LANGUAGES)('no text in %s sends anybody to a terminal', (language) => {
  const words =
    /terminal|command line|konsole|eingabeaufforderung|kommandozeile|\bnpm\b|native-host/i;
  expect(ownTexts(language).filter((text) => words.test(text))).toEqual([]);
  expect(ownTexts(language).length).toBeGreaterThan(100);
});

interface Listing {
  readonly name: string;
  readonly summary: string;
  readonly description: readonly string[];
  readonly terms: readonly string[];
  readonly singlePurpose: string;
  readonly privacy: readonly string[];
  readonly permissions: Readonly<Record<string, string>>;
}

describe.each(LANGUAGES)('the texts for stores in %s', (language) => {
  const file = new URL(`../../store/${language}.json`, import.meta.url);
  const listing = JSON.parse(readFileSync(file, 'utf8')) as Listing;

  test('fit into the fields of the stores', () => {
    const length = listing.description.join('\n\n').length;
    expect(listing.name.length).toBeLessThanOrEqual(45);
    expect(listing.summary.length).toBeLessThanOrEqual(132);
    expect(length).toBeGreaterThanOrEqual(250);
    expect(length).toBeLessThanOrEqual(10_000);
    expect(listing.terms.length).toBeLessThanOrEqual(7);
    for (const term of listing.terms) expect(term.length).toBeLessThanOrEqual(30);
    expect(listing.terms.join(' ').split(/\s+/).length).toBeLessThanOrEqual(21);
    for (const reason of Object.values(listing.permissions)) {
      expect(reason.length).toBeLessThanOrEqual(1000);
    }
  });

  test('give a reason for each permission, and for no other', () => {
    const asked = manifest('chromium', '1.0.0', () => true) as {
      permissions: string[];
      host_permissions: string[];
    };
    const all = [...asked.permissions, ...asked.host_permissions].sort();
    expect(Object.keys(listing.permissions).sort()).toEqual(all);
  });
});
