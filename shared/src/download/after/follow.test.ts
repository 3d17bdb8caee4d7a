import { describe, expect, test } from '@jest/globals';
import { firstStep, nextStep } from './follow.ts';

const file = { name: '/d/file.bin', type: undefined, isKnown: false, isDescribed: false };
const TORRENT = 'application/x-bittorrent';
const METALINK = 'application/metalink4+xml; charset=utf-8';

describe('a complete file', () => {
  test.each([
    ['/d/a.torrent', undefined],
    ['/d/a.META4', 'text/plain'],
    ['/d/a.metalink', undefined],
    ['/d/a', TORRENT],
    ['/d/a.php', METALINK],
  ])('called %s, of type %s, is followed', (name, type) => {
    expect(firstStep({ ...file, name, type })).toBe('keep');
    expect(firstStep({ ...file, name, type }, 'mem')).toBe('mem');
    expect(firstStep({ ...file, name, type }, false)).toBeUndefined();
  });

  test('like others is not followed', () => {
    expect(firstStep({ ...file, type: 'application/octet-stream' })).toBeUndefined();
  });

  test('that the user has named is followed by that name, not by its type', () => {
    const known = { ...file, isKnown: true };
    expect(firstStep({ ...known, type: TORRENT })).toBeUndefined();
    expect(firstStep({ ...known, name: 'a.torrent' })).toBe('keep');
  });

  test('that a description has led to is not followed, as it could describe itself', () => {
    const name = 'a.torrent';
    expect(firstStep({ ...file, name, type: TORRENT, isDescribed: true })).toBeUndefined();
  });

  test('is followed by the choice for its kind', () => {
    const follow = { torrent: false, metalink: 'mem' } as const;
    expect(firstStep({ ...file, type: TORRENT }, follow)).toBeUndefined();
    expect(firstStep({ ...file, type: METALINK }, follow)).toBe('mem');
    // The name says what it is; servers often call everything XML.
    expect(firstStep({ ...file, name: 'a.torrent', type: METALINK }, follow)).toBeUndefined();
  });
});

test('only a description that has been followed is removed', () => {
  expect(nextStep('mem', true)).toBe('remove');
  expect(nextStep('mem', false)).toBe('done');
  expect(nextStep('keep', true)).toBe('done');
});
