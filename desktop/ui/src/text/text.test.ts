import { describe, expect, test } from '@jest/globals';
import { TEXT_FAULTS, type TextFaultCode } from '@millrace/shared/base/error-table/text-faults';
import { ERRORS } from '@millrace/shared/base/errors';
import { NOTES, type NoteCode, noteOf, noteOfError } from '@millrace/shared/base/notes';
import { homeDetail, noteReason } from '@millrace/shared/download/request/home-reason';
import { placeholdersOf, translationFaults } from '@millrace/shared/testing/catalogues';
import { CATALOGUES, chooseLanguage, ERROR_WORDS, LANGUAGES, localeFor, Text } from './text.ts';

describe('catalogues', () => {
  test.each(LANGUAGES)('%s has every text of English, with the same placeholders', (language) => {
    expect(translationFaults(CATALOGUES.en, language, CATALOGUES[language])).toEqual([]);
  });

  test.each(LANGUAGES)('%s has words for every error of the table', (language) => {
    expect(Object.keys(ERROR_WORDS[language]).sort()).toEqual(Object.keys(ERRORS).sort());
    for (const { title, help } of Object.values(ERROR_WORDS[language])) {
      expect(title).toMatch(/[^.]$/);
      expect(help).toMatch(/\.$/);
    }
  });

  test('every note of the table has a text, with the same placeholders', () => {
    for (const [code, text] of Object.entries(NOTES)) {
      const said = CATALOGUES.en[`note.${code as NoteCode}`];
      expect({ code, names: placeholdersOf(said) }).toEqual({ code, names: placeholdersOf(text) });
    }
  });

  test('every reason why a text is not taken has the same words in English', () => {
    for (const [code, text] of Object.entries(TEXT_FAULTS)) {
      expect([code, CATALOGUES.en[`fault.${code as TextFaultCode}`]]).toEqual([code, text]);
    }
  });
});

describe('texts', () => {
  test('are filled in, and have the plural form of their number', () => {
    const [en, de] = [new Text('en'), new Text('de')];
    expect(en.t('list.of', { part: '1 MiB', whole: '2 MiB' })).toBe('1 MiB of 2 MiB');
    expect(en.n('toast.removed', 1)).toBe('1 download removed');
    expect(en.n('toast.removed', 1234)).toBe('1,234 downloads removed');
    expect(de.n('toast.removed', 1234)).toBe('1.234 Downloads entfernt');
    expect(en.n('remove.files', 1, { bytes: '2 MiB' })).toBe('1 file of 2 MiB');
  });

  test('of an unknown error are the daemon’s own', () => {
    const error = { code: 'of-tomorrow', message: 'New trouble', advice: 'Wait.' };
    expect(new Text('de').error(error)).toEqual({ title: 'New trouble', help: 'Wait.' });
    expect(new Text('en').error({ code: 'toString' }).title).toBe('toString');
  });
});

test('notes are shown in the language of the page, with the reason', () => {
  const error = { code: 'wrong-range', message: 'The answer is for another range' };
  const left = noteOfError('source-left-out', error, { source: 'a.example' });
  expect(new Text('de').note(left)).toBe(
    'a.example wird nicht mehr benutzt: Der Server hat einen anderen Teil der Datei gesendet als verlangt',
  );
  const asked = noteOf('edges-not-asked', noteReason(homeDetail('signature')));
  expect(new Text('de').note(asked)).toMatch(/: der Link ist signiert$/);
  expect(new Text('en').note(asked)).toBe(
    'Edges are not used, because the file may not be public: the link is signed',
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
])('the setting %s with preferred languages %j gives %s', (wanted, preferred, language) => {
  expect(chooseLanguage(wanted, preferred)).toBe(language);
});

test('numbers and dates are those of the reader’s country', () => {
  expect(localeFor('en', ['de-DE', 'en-GB'])).toBe('en-GB');
  expect(localeFor('de', ['en-GB'])).toBe('de');
});
