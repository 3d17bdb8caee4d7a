import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { allOf, type Choice, moved, NOTHING, ranged, toggled, without } from './choice.ts';
import { countTypes, listLinks, MAX_LINKS, shownLinks } from './links.ts';

const found = (links: readonly { url: string; text: string }[]) => ({
  page: 'https://a.example/',
  title: '',
  links,
});
const links = (...urls: readonly string[]) => found(urls.map((url) => ({ url, text: '' })));

describe('links', () => {
  test('are listed once, and only if they can be downloaded', () => {
    const { links: listed, cut } = listLinks(
      links(
        'https://a.example/x.iso#top',
        'https://a.example/x.iso',
        'https://A.example/x.iso',
        'mailto:a@a.example',
        'data:text/plain,x',
        'blob:https://a.example/1',
        'nothing',
        `https://a.example/${'x'.repeat(70_000)}`,
      ),
    );
    expect(listed.map(({ url }) => url)).toEqual(['https://a.example/x.iso']);
    expect(cut).toBe(false);
  });

  test('have the name and type of their file', () => {
    const { links: listed } = listLinks(
      links(
        'https://a.example/d%C3%BC/gr%C3%BCn.ZIP?x=y.iso',
        'https://a.example/%E0%A4%A',
        'https://a.example/',
        'https://a.example/films/',
      ),
    );
    expect(listed.map(({ name, type }) => [name, type])).toEqual([
      ['grün.ZIP', 'archives'],
      ['%E0%A4%A', 'other'],
      ['a.example', 'other'],
      ['films', 'other'],
    ]);
  });

  test('are ten thousand at most', () => {
    const urls = Array.from({ length: MAX_LINKS + 1 }, (_, i) => `https://a.example/${i}`);
    expect(listLinks(links(...urls)).cut).toBe(true);
    expect(listLinks(links(...urls)).links).toHaveLength(MAX_LINKS);
    expect(listLinks(links(...urls.slice(1), urls[1] as string)).cut).toBe(false);
  });

  test('are found by all words in name, text and URL, and by type', () => {
    const { links: listed } = listLinks(
      found([
        { url: 'https://a.example/x.iso', text: 'The  Big\nOne' },
        { url: 'https://b.example/y.zip', text: '' },
      ]),
    );
    expect(shownLinks(listed, ' big  ISO ', 'all')).toEqual([0]);
    expect(shownLinks(listed, 'big zip', 'all')).toEqual([]);
    expect(shownLinks(listed, '', 'archives')).toEqual([1]);
    expect(countTypes(listed)).toEqual([
      ['images', 1],
      ['archives', 1],
    ]);
  });
});

describe('choosing', () => {
  const shown = [4, 2, 9, 7];
  const places = ({ chosen }: Choice) => [...chosen].sort((a, b) => a - b);

  test('toggles a link', () => {
    const one = toggled(NOTHING, 2);
    expect(places(one)).toEqual([2]);
    expect(places(toggled(one, 2))).toEqual([]);
    expect(places(allOf(one, [9, 7]))).toEqual([2, 7, 9]);
    expect(places(without(one))).toEqual([]);
  });

  test('a range follows the shown order, and makes all links like the first', () => {
    const begun = toggled(NOTHING, 2);
    const range = ranged(begun, shown, 7);
    expect(places(range)).toEqual([2, 7, 9]);
    expect(places(ranged(toggled(range, 7), shown, 9))).toEqual([2]);
    expect(places(ranged(begun, shown, 4))).toEqual([2, 4]);
  });

  test('a range without a shown beginning toggles one link', () => {
    expect(places(ranged(NOTHING, shown, 9))).toEqual([9]);
    expect(places(ranged(toggled(NOTHING, 100), shown, 9))).toEqual([9, 100]);
  });

  test('never changes hidden links, and keeps the focus on shown ones', () => {
    const place = fc.integer({ min: 0, max: 9 });
    const step = fc.oneof(
      place.map((p) => (c: Choice) => toggled(c, p)),
      fc.nat(3).map((i) => (c: Choice) => ranged(c, shown, shown[i] as number)),
      fc.integer({ min: -9, max: 9 }).map((by) => (c: Choice) => moved(c, shown, by)),
    );
    fc.assert(
      fc.property(fc.array(step), fc.nat(3), (steps, i) => {
        const before = steps.reduce((choice, apply) => apply(choice), NOTHING);
        const after = ranged(before, shown, shown[i] as number);
        for (const hidden of [0, 1, 3, 5, 6, 8]) {
          expect(after.chosen.has(hidden)).toBe(before.chosen.has(hidden));
        }
        expect(shown).toContain(moved(before, shown, i).focus);
      }),
    );
  });
});
