import { expect, test } from '@jest/globals';
import { pluralForms, translationFaults } from '../../testing/catalogues.ts';
import { Catalogue } from './catalogue.ts';

const EN = {
  'a.one': '{n} link from {host}',
  'a.other': '{n} links from {host}',
  b: 'Hello {name}',
  'edge.other': 'Other edge',
};

interface Names {
  readonly 'a.other': 'n' | 'host';
  readonly b: 'name';
}

test('the plural form follows the rules of the language', () => {
  const en = new Catalogue<keyof typeof EN, Names>('en', EN, 'en-GB');
  expect([0, 1, 1234].map((n) => en.n('a', n, { host: 'x' }))).toEqual([
    '0 links from x',
    '1 link from x',
    '1,234 links from x',
  ]);
  // Polish has plural forms that neither English nor German has.
  const texts = { ...EN, 'a.one': '{n} link', 'a.few': '{n} linki', 'a.many': '{n} linków' };
  const pl = new Catalogue<keyof typeof EN, Names>('en', texts, 'pl');
  expect([1, 2, 5, 22].map((n) => pl.n('a', n, { host: 'x' }))).toEqual([
    '1 link',
    '2 linki',
    '5 linków',
    '22 linki',
  ]);
});

test('percentages are written as in the locale', () => {
  const [de, en] = (['de', 'en'] as const).map((name) => new Catalogue(name, EN, name));
  expect(de?.percent(0.42)).toBe('42\u00a0%');
  expect(en?.percent(0.42)).toBe('42%');
});

test('the plural forms of a language are the forms that counts need', () => {
  expect([...pluralForms('en')].sort()).toEqual(['one', 'other']);
  expect([...pluralForms('fr')].sort()).toEqual(['one', 'other']);
  expect([...pluralForms('ar')].sort()).toEqual(['few', 'many', 'one', 'other', 'two', 'zero']);
  expect([...pluralForms('ja')]).toEqual(['other']);
});

test.each<[string, string, Record<string, string | undefined>, string[]]>([
  ['the same', 'de', {}, []],
  ['a number left out of one', 'de', { 'a.one': 'ein Link von {host}' }, []],
  ['an empty text', 'de', { b: ' ' }, ['b is missing', 'b has {}, not {name}']],
  ['a missing form', 'pl', { 'a.few': '{n} {host}' }, ['a.many is missing']],
  ['a form that no count has', 'de', { 'a.few': '{n}' }, ['a.few is unknown']],
  ['an unknown text', 'de', { c: '' }, ['c is unknown']],
  ['another value', 'de', { b: 'Hallo {nam}' }, ['b has {nam}, not {name}']],
  ['a lost value', 'de', { 'a.other': '{n}' }, ['a.other has {n}, not {host} {n}']],
])('a translation with %s', (_, language, changes, faults) => {
  const texts = Object.entries({ ...EN, ...changes }).filter(([, text]) => text !== undefined);
  expect(translationFaults(EN, language, Object.fromEntries(texts) as typeof EN)).toEqual(faults);
});
