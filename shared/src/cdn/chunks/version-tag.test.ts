import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_ETAG_CHARS } from '../../base/limits.ts';
import type { Validators } from '../../http/fields/validators.ts';
import { digestOfTag, digestTag, isVersionTag, versionOfTag, versionTag } from './version-tag.ts';

/** The characters that an entity tag may have (RFC 9110 8.8.3). */
const etagChar = fc
  .integer({ min: 0x21, max: 0xff })
  .filter((code) => code !== 0x22 && (code < 0x7f || code > 0x7f))
  .map((code) => String.fromCharCode(code));
const etag = fc
  .oneof(
    fc.array(etagChar, { maxLength: 8 }),
    fc.array(fc.constantFrom('%', '2', '5', '.', '1', 'a'), { maxLength: 4 }),
  )
  .map((chars) => `"${chars.join('')}"`);
const version = fc.record({
  validators: fc.oneof(
    etag.map((tag): Validators => ({ etag: tag })),
    fc
      .nat(50)
      .map((second): Validators => ({ lastModified: second * 1000, lastModifiedIsStrong: true })),
  ),
  length: fc.nat(50),
});
type Version = { validators: Validators; length: number };

describe('version tags', () => {
  test.each<[Validators, number, string | undefined]>([
    [{ etag: '"abc"' }, 10, 'e.abc'],
    [{ etag: '""' }, 10, 'e.%'],
    [{ etag: '"%"' }, 10, 'e.%25'],
    [{ etag: '"a,b/c:d"' }, 10, 'e.a%2Cb%2Fc%3Ad'],
    [{ etag: '"\xfc\x80"' }, 10, 'e.%FC%80'],
    [{ etag: '"abc"', lastModified: 1000, lastModifiedIsStrong: true }, 10, 'e.abc'],
    [{ lastModified: 784111777000, lastModifiedIsStrong: true }, 10, 'm.784111777.10'],
    [{ lastModified: 0, lastModifiedIsStrong: true }, 0, 'm.0.0'],
    [{ lastModified: 784111777000, lastModifiedIsStrong: false }, 10, undefined],
    [{ lastModified: 784111777000 }, 10, undefined],
    [{ weakEtag: 'W/"abc"' }, 10, undefined],
    [{}, 10, undefined],
  ])('the version with %j and length %d has the tag %j', (validators, length, tag) => {
    expect(versionTag(validators, length)).toBe(tag);
  });

  test('two versions have the same tag only if their validators are the same', () => {
    const pinnedBy = ({ validators: { etag: tag, lastModified }, length }: Version) =>
      tag ?? `${lastModified} ${length}`;
    fc.assert(
      fc.property(version, version, (a, b) => {
        const same = versionTag(a.validators, a.length) === versionTag(b.validators, b.length);
        expect(same).toBe(pinnedBy(a) === pinnedBy(b));
      }),
      { numRuns: 1000 },
    );
  });

  test('every tag has the form of a tag and may stand in a chunk name', () => {
    fc.assert(
      fc.property(version, ({ validators, length }) => {
        const tag = versionTag(validators, length) ?? '';
        expect(isVersionTag(tag)).toBe(true);
        expect(tag).not.toContain(',');
      }),
    );
  });

  test('the longest entity tag that is used makes a tag', () => {
    const longest = `"${'\xff'.repeat(MAX_ETAG_CHARS - 2)}"`;
    expect(isVersionTag(versionTag({ etag: longest }, 10) ?? '')).toBe(true);
  });

  test.each(['', 'e.', 'abc', 'x.abc', 'e.a,b', 'e.a b', 'e.a/b', 'E.abc', 'e.abc\n', 'e.ü'])(
    '%j does not have the form of a tag',
    (text) => {
      expect(isVersionTag(text)).toBe(false);
    },
  );

  test('a checksum that a client gives has the form of a tag', () => {
    expect(isVersionTag(`d.${'0123456789abcdef'.repeat(4)}`)).toBe(true);
  });
});

describe('versionOfTag', () => {
  test('returns the validators that the tag was made from', () => {
    fc.assert(
      fc.property(version, ({ validators, length }) => {
        expect(versionOfTag(versionTag(validators, length) ?? '', length)).toEqual(validators);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['another spelling of the same tag', 'e.%61bc', 10],
    ['lower-case escapes', 'e.a%2cb', 10],
    ['a date for a file of another length', 'm.784111777.10', 11],
    ['a date that is not a number', 'm.x.10', 10],
    ['a checksum, which says nothing about validators', `d.${'0'.repeat(64)}`, 10],
    ['no tag', 'abc', 10],
  ])('refuses %s', (_, tag, length) => {
    expect(versionOfTag(tag, length)).toBeUndefined();
  });
});

describe('a digest that a client has given', () => {
  const digest = fc.option(fc.stringMatching(/^[0-9a-f]{64}$/), { nil: undefined });

  test('is part of the tag, and both can be read from it', () => {
    fc.assert(
      fc.property(version, digest, ({ validators, length }, hex) => {
        const tag = versionTag(validators, length, hex) ?? '';
        expect(isVersionTag(tag)).toBe(true);
        expect(digestOfTag(tag)).toBe(hex);
        expect(versionOfTag(tag, length)).toEqual(validators);
      }),
    );
  });

  test('keeps content apart from all other content of the same version', () => {
    fc.assert(
      fc.property(version, digest, digest, ({ validators, length }, a, b) => {
        const same = versionTag(validators, length, a) === versionTag(validators, length, b);
        expect(same).toBe(a === b);
      }),
    );
  });

  test('may stand alone while the version is not known', () => {
    const tag = digestTag('0123456789abcdef'.repeat(4));
    expect([isVersionTag(tag), digestOfTag(tag)]).toEqual([true, '0123456789abcdef'.repeat(4)]);
    expect(versionOfTag(tag, 10)).toBeUndefined();
  });

  test('an entity tag that looks like a digest is not taken for one', () => {
    const looks = versionTag({ etag: `"d.${'0'.repeat(64)}"` }, 10) ?? '';
    expect(digestOfTag(looks)).toBeUndefined();
  });
});
