import { expect, test } from '@jest/globals';
import { translationFaults } from '../../testing/catalogues.ts';
import { DETAILS } from '../base/error-table/details.ts';
import { detailText, readParticulars } from '../base/error-table/particulars.ts';
import { MillraceError } from '../base/errors.ts';
import { DETAIL_WORDS, detailWords } from './detail-words.ts';
import ownEnglish from './details-en.json' with { type: 'json' };
import { LANGUAGES } from './language.ts';

const WRITE = { size: (n: number) => `${n >> 10} KiB`, exact: (n: number) => `${n} bytes` };
const german = (error: MillraceError) => detailWords('de', error, WRITE);

test.each(LANGUAGES)(
  '%s has words for every detail of the table, with the same values',
  (language) => {
    expect(translationFaults(DETAILS, language, DETAIL_WORDS[language])).toEqual([]);
  },
);

test('a detail in English is written once: in the table, or where an interface differs from it', () => {
  for (const [code, text] of Object.entries(ownEnglish)) {
    expect(DETAILS[code as keyof typeof DETAILS]).not.toBe(text);
  }
});

test('a detail of the table is said in the language of the reader, with its sizes', () => {
  const error = new MillraceError('disk-full', {
    code: 'room-needed',
    values: { neededBytes: 4096, freeBytes: 1024 },
  });
  expect(error.detail).toBe('4096 bytes are needed, 1024 bytes are free');
  expect(german(error)).toBe('4 KiB werden gebraucht, 1 KiB sind frei');
  const alike = new MillraceError('different-file', {
    code: 'other-length',
    values: { hasBytes: 4096, wantedBytes: 4097 },
  });
  expect(german(alike)).toBe('sie hat 4096 bytes statt 4097 bytes');
});

test('a reason within a detail is translated too, and what another program said is quoted', () => {
  const error = new MillraceError('proxy-failed', {
    code: 'at',
    values: { place: 'http://proxy', why: { code: 'proxy-silent', values: { proxy: 'it' } } },
  });
  expect(error.detail).toBe('http://proxy: it does not answer');
  expect(german(error)).toBe('http://proxy: it antwortet nicht');
  const said = new MillraceError('resolver-refused', {
    code: 'quoted',
    values: { text: 'this video is private' },
  });
  expect([german(said), detailWords('en', said, WRITE)]).toEqual([
    '„this video is private“',
    '“this video is private”',
  ]);
  expect(german(new MillraceError('internal', 'EIO'))).toBe('„EIO“');
  expect(german(new MillraceError('internal'))).toBe('');
});

test('a detail survives its way through another program, an error of another code and one piece', () => {
  const sent = new MillraceError('origin-error', { code: 'answered', values: { status: 503 } });
  const { code, detail, particulars } = JSON.parse(JSON.stringify(sent));
  const read = new MillraceError(code, detail, { particulars });
  expect(german(read)).toBe('Antwort 503');
  expect(german(read.as('origin-busy'))).toBe('Antwort 503');
  expect(german(read.ofOnePiece())).toBe('Antwort 503');
});

test.each<[string, unknown]>([
  ['no detail', undefined],
  ['a code of another version', { code: 'of-tomorrow', values: {} }],
  ['a member that all objects have', { code: 'toString' }],
  ['a value that is missing', { code: 'answered', values: {} }],
  ['a value of another type', { code: 'answered', values: { status: ['503'] } }],
])('%s from another program leaves its English text, as a quotation', (_, given) => {
  expect(readParticulars(given)).toBeUndefined();
  const error = new MillraceError('origin-error', 'it answered 503', { particulars: given });
  expect(german(error)).toBe('„it answered 503“');
  expect(detailWords('en', error, WRITE)).toBe('it answered 503');
});

test('reasons within reasons end, and values are short, whatever another program sends', () => {
  let deep: object = { code: 'answered', values: { status: 1 } };
  for (let i = 0; i < 9; i++) deep = { code: 'at', values: { place: 'x', why: deep } };
  expect(readParticulars(deep)).toBeUndefined();
  const long = readParticulars({ code: 'quoted', values: { text: 'x'.repeat(1e6) } });
  expect(detailText(long ?? { code: 'quoted' }).length).toBe(4096);
});
