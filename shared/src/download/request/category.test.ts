import { describe, expect, test } from '@jest/globals';
import { categoryOf, checkCategories, DEFAULT_CATEGORIES } from './category.ts';

describe('categories', () => {
  test.each([
    ['debian.iso', 'images'],
    ['Film.MKV', 'video'],
    ['a.tar.gz', 'archives'],
    ['README', undefined],
    ['x.unknown', undefined],
    ['iso', undefined],
  ])('%s: %s', (name, expected) => {
    expect(categoryOf(name, DEFAULT_CATEGORIES)?.name).toBe(expected);
  });

  test('are cleaned up where their meaning is clear', () => {
    const given = [{ name: ' Films ', folder: 'a//b/./', extensions: ['.MKV', ' mp4 '] }];
    expect(checkCategories(given)).toEqual([
      { name: 'Films', folder: 'a/b', extensions: ['mkv', 'mp4'] },
    ]);
    expect(checkCategories(DEFAULT_CATEGORIES)).toEqual(DEFAULT_CATEGORIES);
  });

  test.each(['..', 'a/../../b', '/srv/../etc', 'a\\..\\b', 'a/\0', 'con', 'a/b:c'])(
    'the folder %j is refused',
    (folder) => {
      const given = [{ name: 'x', folder, extensions: ['x'] }];
      expect(() => checkCategories(given)).toThrow(/folder of "x"/);
    },
  );

  test.each([
    [[{ name: '', folder: '', extensions: [] }], /is not a name/],
    [[{ name: 'a', folder: '', extensions: ['a/b'] }], /extension/],
    [Array.from({ length: 2 }, () => ({ name: 'a', folder: '', extensions: [] })), /two/],
    [
      Array.from({ length: 101 }, (_, i) => ({ name: `${i}`, folder: '', extensions: [] })),
      /more than 100/,
    ],
  ])('invalid categories are refused %#', (given, message) => {
    expect(() => checkCategories(given)).toThrow(message);
  });
});
