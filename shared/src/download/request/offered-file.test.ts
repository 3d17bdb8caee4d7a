import { describe, expect, test } from '@jest/globals';
import type { Headers } from '../../http/fields/headers.ts';
import { readValidators } from '../../http/fields/validators.ts';
import { checkOffered } from './offered-file.ts';

const DATE = 'Sat, 21 Nov 2026 20:00:00 GMT';
const OTHER_DATE = 'Sat, 21 Nov 2026 20:00:01 GMT';
const got = (headers: Headers, length: number | undefined = 10) => ({
  length,
  validators: readValidators(headers),
});

describe('the file that a browser is downloading is the same', () => {
  test.each([
    [{ etag: '"a"' }, { etag: '"a"' }],
    [
      { etag: '"a"', lastModified: DATE },
      { etag: '"a"', 'last-modified': OTHER_DATE },
    ],
    [{ lastModified: DATE }, { 'last-modified': DATE }],
    [
      { etag: 'W/"a"', lastModified: DATE },
      { etag: 'W/"a"', 'last-modified': DATE },
    ],
  ])('%j, %j', (offered, headers) => {
    expect(checkOffered({ length: 10, ...offered }, got(headers))).toBeUndefined();
  });

  test.each([
    ['different-file', { etag: '"a"' }, { etag: '"b"' }],
    ['different-file', { etag: '"a"' }, { etag: 'W/"a"' }],
    ['different-file', { lastModified: DATE }, { 'last-modified': OTHER_DATE }],
    ['different-file', { lastModified: DATE }, { etag: '"a"', 'last-modified': DATE }],
    ['version-unproven', { etag: '"a"' }, { 'last-modified': DATE }],
    ['version-unproven', { etag: '"a"' }, {}],
    ['version-unproven', { etag: 'W/"a"' }, { etag: 'W/"a"' }],
    ['version-unproven', { etag: 'not quoted' }, {}],
    ['version-unproven', { lastModified: DATE }, {}],
  ])('otherwise %s: %j, %j', (code, offered, headers) => {
    expect(() => checkOffered({ length: 10, ...offered }, got(headers))).toThrow(
      expect.objectContaining({ code }),
    );
  });

  test('the length is compared first', () => {
    const offered = { length: 10, etag: '"a"' };
    for (const [length, code] of [
      [11, 'different-file'],
      [0, 'different-file'],
    ] as const) {
      expect(() => checkOffered(offered, got({ etag: '"a"' }, length))).toThrow(
        expect.objectContaining({ code }),
      );
    }
    const unknown = { length: undefined, validators: { etag: '"a"' } };
    expect(() => checkOffered(offered, unknown)).toThrow(
      expect.objectContaining({ code: 'version-unproven' }),
    );
  });
});
