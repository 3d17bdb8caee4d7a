import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ByteRange, RangeSet, rangeBytes } from '../../base/byte-range.ts';
import { SAMPLE_BYTES } from '../transfer/same-file.ts';
import {
  byLikelihood,
  type EarlierDownload,
  type NewLink,
  nameKey,
  type Renewal,
  renewalOf,
  renewalSamples,
} from './renewal.ts';

const OLD = 'https://a.example/get/File.iso?sig=old';
const NEW = 'https://b.example/other/file.iso?sig=new';
const sha256 = (hex: string) => ({ algorithm: 'sha256' as const, hex });
const md5 = (hex: string) => ({ algorithm: 'md5' as const, hex });

describe('a link and an earlier download', () => {
  const begun: EarlierDownload = {
    ...{ state: 'error', name: 'File.iso', url: OLD, length: 1000, storedBytes: 400 },
  };
  const empty = { ...begun, storedBytes: 0 };
  const unknown = { ...empty, length: undefined };
  const link: NewLink = { url: NEW, length: 1000 };
  const unasked = { url: NEW };

  test.each<[string, Partial<EarlierDownload>, NewLink, Renewal]>([
    ['one name and length, after a failure', begun, link, 'compare'],
    ['the same, of a paused download', { ...begun, state: 'paused' }, link, 'compare'],
    ['the same, while it runs', { ...begun, state: 'active' }, link, 'no'],
    ['the same, while it waits', { ...begun, state: 'waiting' }, link, 'no'],
    ['the same, once it is complete', { ...begun, state: 'complete' }, link, 'no'],
    ['the same, after it was removed', { ...begun, state: 'removed' }, link, 'no'],
    ['another length', begun, { ...link, length: 999 }, 'no'],
    ['another name', begun, { ...link, name: 'other.iso' }, 'no'],
    ['another name in the URL', begun, { ...link, url: 'https://b.example/x.iso' }, 'no'],
    [
      'a given name in place of that in the URL',
      begun,
      { url: 'https://b.example/get', name: 'file.iso', length: 1000 },
      'compare',
    ],
    [
      'a URL of the same host that names no file',
      begun,
      { url: 'https://a.example/dl/7f3a?t=1', length: 1000 },
      'compare',
    ],
    ['the same, nothing stored', empty, { url: 'https://a.example/dl/7f3a', length: 1000 }, 'no'],
    ['the same of another host', begun, { url: 'https://b.example/dl/7f3a', length: 1000 }, 'no'],
    ['a name that the browser has numbered', begun, { ...link, name: 'File (2).iso' }, 'compare'],
    ['a name that the app has numbered', { ...begun, name: 'File.1.iso' }, link, 'compare'],
    [
      'a folder before the name',
      { ...begun, name: 'films/File.iso', url: 'https://a.example/' },
      link,
      'compare',
    ],
    ['a name that only the earlier URL has', { ...begun, name: 'mine.iso' }, link, 'compare'],
    ['a length that nobody has asked for', begun, unasked, 'ask'],
    ['nothing stored, and one length', empty, link, 'take'],
    ['nothing stored, and a length that nobody has asked for', empty, unasked, 'ask'],
    ['nothing stored, and another length', empty, { ...link, length: 999 }, 'no'],
    [
      'nothing stored, and the next version',
      { ...empty, name: 'a-1.2.iso', url: 'https://a.example/a-1.2.iso' },
      { ...link, name: 'a-1.3.iso' },
      'no',
    ],
    [
      'stored bytes of what may be the next version',
      { ...begun, name: 'a-1.2.iso' },
      { ...link, name: 'a-1.3.iso' },
      'compare',
    ],
    ['stored bytes of an unknown length', { ...begun, length: undefined }, link, 'no'],
    ['no length and nothing stored, at another host', unknown, link, 'no'],
    [
      'no length and nothing stored, with another signature',
      unknown,
      { url: 'https://a.example/get/File.iso?sig=new' },
      'take',
    ],
    [
      'no length and nothing stored, with another parameter',
      unknown,
      { url: 'https://a.example/get/File.iso?id=7' },
      'no',
    ],
    ['no length and nothing stored, with the same link', unknown, { url: OLD }, 'take'],
    [
      'the same link of a paused download that never began',
      { ...unknown, state: 'paused' },
      { url: OLD },
      'no',
    ],
    [
      'another digest',
      { ...begun, digests: [sha256('aa')] },
      { ...link, digests: [sha256('bb')] },
      'no',
    ],
    [
      'digests of two kinds',
      { ...begun, digests: [sha256('aa')] },
      { ...link, digests: [md5('bb')] },
      'compare',
    ],
  ])('%s', (_what, earlier, offered, expected) => {
    expect(renewalOf({ ...begun, ...earlier }, offered)).toBe(expected);
  });

  test('stored bytes are always compared, whatever else is equal', () => {
    fc.assert(
      fc.property(
        fc.record({
          state: fc.constantFrom('error', 'paused', 'active', 'complete'),
          name: fc.constantFrom('File.iso', 'file (1).iso', 'x'),
          url: fc.constantFrom(OLD, NEW),
          length: fc.option(fc.constantFrom(1000, 999), { nil: undefined }),
          storedBytes: fc.integer({ min: 1, max: 1000 }),
          digests: fc.constantFrom([], [sha256('aa')]),
        }),
        fc.record({
          url: fc.constantFrom(OLD, NEW),
          length: fc.option(fc.constantFrom(1000, 999), { nil: undefined }),
          digests: fc.constantFrom([], [sha256('aa')]),
        }),
        (earlier, offered) => renewalOf(earlier, offered) !== 'take',
      ),
    );
  });

  test('of several, that of the same place comes first, then the one with more bytes', () => {
    const found = [
      { ...begun, url: NEW, storedBytes: 1 },
      { ...begun, url: NEW, storedBytes: 2 },
      { ...begun, url: OLD, storedBytes: 0 },
    ];
    const url = 'https://a.example/get/File.iso?sig=new';
    expect(byLikelihood(found, url).map((one) => one.storedBytes)).toEqual([0, 2, 1]);
  });
});

test.each([
  ['File.ISO', 'file.iso'],
  ['a\\b/c (12).tar.gz', 'c.tar.gz'],
  ['c (1)', 'c'],
  ['photo (1) of 2.jpg', 'photo (1) of 2.jpg'],
  ['(1).jpg', '(1).jpg'],
  ['a (12345).bin', 'a (12345).bin'],
])('the name %s is compared as %s', (name, key) => {
  expect(nameKey(name)).toBe(key);
});

describe('samples', () => {
  const spans = fc.array(fc.tuple(fc.nat({ max: 300_000 }), fc.nat({ max: 300_000 })), {
    maxLength: 20,
  });

  test('lie within the stored bytes, and are all of them if these are few', () => {
    fc.assert(
      fc.property(
        spans,
        fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
        (pairs, drawn) => {
          const stored = new RangeSet(pairs.map(([start, n]) => ({ start, end: start + n })));
          const chosen = renewalSamples(stored.ranges, () => drawn.next().value as number);
          const bytes = chosen.reduce((sum, range) => sum + rangeBytes(range), 0);
          const within = (range: ByteRange) =>
            stored.ranges.some(({ start, end }) => start <= range.start && range.end <= end);
          expect(chosen.every(within)).toBe(true);
          expect(bytes).toBeLessThanOrEqual(6 * SAMPLE_BYTES);
          expect(bytes > 0).toBe(stored.bytes > 0);
          if (stored.bytes <= 6 * SAMPLE_BYTES && stored.ranges.length <= 6) {
            expect(bytes).toBe(stored.bytes);
          }
        },
      ),
    );
  });
});
