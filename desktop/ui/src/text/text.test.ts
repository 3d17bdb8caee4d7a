import { describe, expect, test } from '@jest/globals';
import { ERRORS } from '@millrace/shared/base/errors';
import { NOTES, type NoteCode, noteOf, noteOfError } from '@millrace/shared/base/notes';
import { CATALOGUES, chooseLanguage, ERROR_WORDS, LANGUAGES, localeFor, Text } from './text.ts';

const names = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
const others = LANGUAGES.filter((language) => language !== 'en');

describe('catalogues', () => {
  test.each(others)('%s says everything that English says, with the same values', (language) => {
    const { en, [language]: other } = CATALOGUES;
    expect(Object.keys(other).sort()).toEqual(Object.keys(en).sort());
    for (const [key, text] of Object.entries(en)) {
      const translated = other[key as keyof typeof en];
      expect({ key, names: names(translated) }).toEqual({ key, names: names(text) });
      expect(translated.trim()).not.toBe('');
    }
  });

  test.each(LANGUAGES)('%s has words for every error of the table', (language) => {
    expect(Object.keys(ERROR_WORDS[language]).sort()).toEqual(Object.keys(ERRORS).sort());
    for (const { title, help } of Object.values(ERROR_WORDS[language])) {
      expect(title).toMatch(/[^.]$/);
      expect(help).toMatch(/\.$/);
    }
  });

  test('every note of the table is there, with the same values', () => {
    for (const [code, text] of Object.entries(NOTES)) {
      const said = CATALOGUES.en[`note.${code as NoteCode}`];
      expect({ code, names: names(said) }).toEqual({ code, names: names(text) });
    }
  });

  test('every plural has both forms', () => {
    const keys = Object.keys(CATALOGUES.en);
    const forms = (form: string) =>
      keys.flatMap((key) => (key.endsWith(`.${form}`) ? key.slice(0, -form.length) : []));
    for (const base of forms('one')) expect(forms('other')).toContain(base);
  });
});

describe('texts', () => {
  test('are filled in, and follow the number', () => {
    const [en, de] = [new Text('en'), new Text('de')];
    expect(en.t('list.of', { part: '1 MiB', whole: '2 MiB' })).toBe('1 MiB of 2 MiB');
    expect(en.n('toast.removed', 1, { name: 'a.iso' })).toBe('a.iso removed');
    expect(en.n('toast.removed', 1234, { name: 'a.iso' })).toBe('1,234 downloads removed');
    expect(de.n('toast.removed', 1234, { name: 'a.iso' })).toBe('1.234 Downloads entfernt');
  });

  test('of an error that is not known are the daemon’s own', () => {
    const error = { code: 'of-tomorrow', message: 'New trouble', advice: 'Wait.' };
    expect(new Text('de').error(error)).toEqual({ title: 'New trouble', help: 'Wait.' });
    expect(new Text('en').error({ code: 'toString' }).title).toBe('toString');
  });
});

test('notes are said in the language of the page, with the reason', () => {
  const error = { code: 'wrong-range', message: 'The answer is for another range' };
  const left = noteOfError('source-left-out', error, { source: 'a.example' });
  expect(new Text('de').note(left)).toBe(
    'a.example wird nicht mehr benutzt: Der Server hat einen anderen Teil der Datei gesendet',
  );
  expect(new Text('en').note(noteOf('name-taken', { name: 'x.1.iso' }))).toBe(
    'The name is taken: saving as x.1.iso',
  );
  expect(new Text('de').note({ note: 'of-tomorrow', text: 'Something new' })).toBe('Something new');
  expect(new Text('de').note({ text: 'of an older daemon' })).toBe('of an older daemon');
});

test.each([
  ['system', ['fr-FR', 'de-AT', 'en'], 'de'],
  ['system', ['fr'], 'en'],
  ['de', ['en'], 'de'],
  ['tlh', ['de'], 'en'],
])('%s for %j is %s', (wanted, preferred, language) => {
  expect(chooseLanguage(wanted, preferred)).toBe(language);
});

test('numbers and dates are those of the reader’s country', () => {
  expect(localeFor('en', ['de-DE', 'en-GB'])).toBe('en-GB');
  expect(localeFor('de', ['en-GB'])).toBe('de');
});
