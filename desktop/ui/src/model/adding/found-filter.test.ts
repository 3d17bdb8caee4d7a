import { expect, test } from '@jest/globals';
import { FIRST_FORM, requestsOf } from './add-form.ts';
import {
  filtered,
  kindsOf,
  leftAtFirst,
  looksLikePage,
  NO_FILTER,
  OTHER_KIND,
  type ShownLink,
} from './found-filter.ts';

const link = (name: string, more: Partial<ShownLink> = {}): ShownLink => ({
  url: `https://h.example/${name}`,
  name,
  dir: '/dl',
  metalink: false,
  exnode: false,
  ...more,
});
const LINKS = [
  link('debian.iso', { category: 'images', wanted: true }),
  link('debian.txt', { wanted: false }),
  link('movie.mkv', { category: 'video', folder: 'films/old' }),
];
const names = (links: readonly ShownLink[]) => links.map(({ name }) => name);

test('links are filtered by kind, part of a name or folder, and pattern', () => {
  expect(filtered(LINKS, NO_FILTER)).toEqual(LINKS);
  expect(names(filtered(LINKS, { text: 'DEB', kind: '' }))).toEqual(['debian.iso', 'debian.txt']);
  expect(names(filtered(LINKS, { text: ' *.mkv ', kind: '' }))).toEqual(['movie.mkv']);
  expect(names(filtered(LINKS, { text: 'films/', kind: 'video' }))).toEqual(['movie.mkv']);
  expect(names(filtered(LINKS, { text: 'deb', kind: OTHER_KIND }))).toEqual(['debian.txt']);
  expect(kindsOf(LINKS)).toEqual(['images', 'video', OTHER_KIND]);
});

test('links to other pages, and what is in the list, start unchecked', () => {
  const status = 'complete' as const;
  const known = { url: 'x', same: 'url' as const, gid: '1', name: 'x', status };
  const links = [
    ...LINKS,
    link('x', { duplicate: known }),
    link('y', { duplicate: { ...known, same: 'path' } }),
  ];
  expect(leftAtFirst(links).map((url) => url.slice(18))).toEqual(['debian.txt', 'x']);
});

test.each([
  ['https://h.example/pub/', true],
  ['https://h.example', true],
  ['https://h.example/pub/list.php?x=a.iso', true],
  ['https://h.example/downloads', true],
  ['https://h.example/a.iso', false],
  ['https://h.example/a.tar.gz?html', false],
])('%s looks like a page: %p', (url, expected) => {
  expect(looksLikePage(url)).toBe(expected);
});

test('files of folders below a page go into folders of the same names', () => {
  const plain = requestsOf({ ...FIRST_FORM, edges: false }, LINKS, false);
  expect(plain.map(({ dir }) => dir)).toEqual([undefined, undefined, '/dl/films/old']);
  const typed = requestsOf({ ...FIRST_FORM, dir: '/other' }, LINKS, false);
  expect(typed.map(({ dir }) => dir)).toEqual(['/other', '/other', '/other/films/old']);
});
