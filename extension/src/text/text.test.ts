import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { manifest } from '../manifest.mjs';
import { CATALOGUES, textFor } from './text.ts';

const names = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

describe('catalogues', () => {
  test('German says everything that English says, with the same values', () => {
    const { en, de } = CATALOGUES;
    expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
    for (const [key, text] of Object.entries(en)) {
      const translated = de[key as keyof typeof en];
      expect({ key, names: names(translated) }).toEqual({ key, names: names(text) });
      expect(translated.trim()).not.toBe('');
    }
  });

  test('every plural has both forms', () => {
    const keys = Object.keys(CATALOGUES.en);
    const forms = (form: string) =>
      keys.flatMap((key) => (key.endsWith(`.${form}`) ? key.slice(0, -form.length) : []));
    for (const base of forms('one')) expect(forms('other')).toContain(base);
  });

  test.each(['chromium', 'firefox'])(
    'every permission that %s is asked for is explained',
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

test('the browser’s own strings are the same in both languages, with the same values', () => {
  const read = (language: string): Record<string, Message> => {
    const file = new URL(`../../public/_locales/${language}/messages.json`, import.meta.url);
    return JSON.parse(readFileSync(file, 'utf8'));
  };
  const [en, de] = [read('en'), read('de')];
  expect(Object.keys(de)).toEqual(Object.keys(en));
  for (const [key, { message, placeholders = {} }] of Object.entries(en)) {
    const values = (text: string) => (text.match(/\$\w+\$/g) ?? []).sort();
    const other = de[key] as Message;
    expect({ key, values: values(other.message) }).toEqual({ key, values: values(message) });
    expect(other.placeholders ?? {}).toEqual(placeholders);
    expect(values(message)).toEqual(Object.keys(placeholders).map((n) => `$${n.toUpperCase()}$`));
  }
});

test('the language is the first of the browser’s that there is', () => {
  expect(textFor(['fr-FR', 'de-AT', 'en']).t('options.title')).toBe('Einstellungen');
  expect(textFor(['fr-FR']).t('options.title')).toBe('Options');
  expect(textFor(['en-GB']).locale).toBe('en-GB');
});
