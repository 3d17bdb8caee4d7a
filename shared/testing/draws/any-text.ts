/**
 * Texts and URLs for property tests. Those of fast-check begin with a map of all characters of
 * Unicode, which takes a second of processor time in every test file.
 */

import fc from 'fast-check';

/** Code points of halves of surrogate pairs, which are no characters. */
const [FIRST_HALF, HALVES] = [0xd800, 0x800];

/** Any character of Unicode, from the simplest. */
const anyCharacter = fc
  .nat(0x10ffff - HALVES)
  .map((number) => String.fromCodePoint(number < FIRST_HALF ? number : number + HALVES), numberOf);

/** Inverts the choice of a character. @throws TypeError for anything else */
function numberOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
  if (code === undefined || text !== String.fromCodePoint(code))
    throw new TypeError('no character');
  if (code < FIRST_HALF) return code;
  if (code < FIRST_HALF + HALVES) throw new TypeError('half a pair');
  return code - HALVES;
}

/** Draws texts of any characters. */
export const anyText = (lengths: fc.StringConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ ...lengths, unit: anyCharacter });

const ENCODED = anyCharacter.map((character) => encodeURIComponent(character));
/** Draws characters of a path's segment (RFC 3986), one in twenty of them encoded. */
const inUrl = (more = '') =>
  fc.oneof(
    { weight: 19, arbitrary: fc.constantFrom(...`abcxyzABCXYZ0189-._~!$&'()*+,;=:@${more}`) },
    { weight: 1, arbitrary: ENCODED },
  );
const SEGMENT = fc.string({ unit: inUrl() });
const QUERY = fc.string({ unit: inUrl('/?') });

/** Draws paths of URLs: empty, or with a slash before each segment. */
export const anyPath = (): fc.Arbitrary<string> =>
  fc.array(SEGMENT).map((segments) => segments.map((segment) => `/${segment}`).join(''));

/** Draws URLs of files, which may have a query. */
export const anyUrl = (): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom('https', 'http'), fc.domain(), anyPath(), fc.option(QUERY))
    .map(
      ([scheme, host, path, query]) =>
        `${scheme}://${host}${path}${query === null ? '' : `?${query}`}`,
    );
