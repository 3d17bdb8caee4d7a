import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_PASSED_FIELD_CHARS } from '../../base/limits.ts';
import { EDGE_RELATION, parseEdgeLinks } from './edge-links.ts';
import { parseLinks } from './link.ts';
import { leadPages, rebuildLinks } from './link-rebuild.ts';

const BASE = 'https://files.example/dir/a.iso';
const KEPT = ['duplicate', 'describedby', 'next', 'prev', 'previous', 'first', 'last'];
const rebuild = (...link: string[]) => rebuildLinks({ link }, BASE);

describe('a Link field is rebuilt', () => {
  test.each([
    [
      '<http://m.example/a.iso>; rel=duplicate; pri=1; geo=DE; pref; depth=2',
      '<http://m.example/a.iso>; rel="duplicate"; pri="1"; geo="DE"; pref; depth="2"',
    ],
    [
      '<a.iso.meta4>; rel=describedby; type="application/metalink4+xml"; title="x"',
      '<https://files.example/dir/a.iso.meta4>; rel="describedby"; type="application/metalink4+xml"',
    ],
    [
      '</a.asc>; rel="describedby"; type="application/pgp-signature"',
      '<https://files.example/a.asc>; rel="describedby"; type="application/pgp-signature"',
    ],
    ['<//m.example/a>; rel=DUPLICATE', '<https://m.example/a>; rel="duplicate"'],
    [
      `<https://m.example/a>; rel="duplicate ${EDGE_RELATION} preload"`,
      '<https://m.example/a>; rel="duplicate"',
    ],
    ['</-/dashboard>; rel="preconnect next"', '<https://files.example/-/dashboard>; rel="next"'],
    [
      '<?page=2>; rel="next", <?page=9>; rel=last; title="x"',
      '<https://files.example/dir/a.iso?page=2>; rel="next", <https://files.example/dir/a.iso?page=9>; rel="last"',
    ],
    ['<a>; rel=duplicate; anchor="#x"', '<https://files.example/dir/a>; rel="duplicate"'],
    [
      '<https://m.example/a#f>; rel=duplicate; pri="1\\"; rel=x"; type="a/b\\"<"',
      '<https://m.example/a>; rel="duplicate"',
    ],
  ])('%s', (field, passed) => expect(rebuild(field)).toBe(passed));

  test.each([
    `<https://edge.example/>; rel="${EDGE_RELATION}"`,
    `<https://edge.example/>; rel="${EDGE_RELATION.toUpperCase()}"`,
    `<https://edge.example/>; rel=${EDGE_RELATION}`,
    '<style.css>; rel=preload; as=style',
    '</-/dashboard>; rel="preconnect"',
    '<ftp://m.example/a>; rel=duplicate',
    '<javascript:alert(1)>; rel=duplicate',
    '<https://user:word@m.example/a>; rel=duplicate',
    '<https://[bad/a>; rel=duplicate',
    '<>; rel=duplicate',
    '<a>; rel=duplicate; anchor="https://other.example/"',
    '<a>',
    'nonsense',
    '',
  ])('%j leaves nothing', (field) => expect(rebuild(field)).toBeUndefined());

  test('there is no field if the origin sent none', () => {
    expect(rebuildLinks({}, BASE)).toBeUndefined();
  });

  test('links beyond the limits are left out, and the others stay whole', () => {
    const link = Array.from({ length: 200 }, (_, i) => `<https://m.example/${i}>; rel=duplicate`);
    expect(parseLinks({ link: rebuild(link.join(', ')) })).toHaveLength(64);
    const long = link.map((one) => one.replace('>', `${'x'.repeat(200)}>`));
    const field = rebuild(long.join(', ')) ?? '';
    expect(field.length).toBeLessThanOrEqual(MAX_PASSED_FIELD_CHARS);
    for (const { target, rel } of parseLinks({ link: field })) {
      expect([target.length, rel]).toEqual([expect.any(Number), ['duplicate']]);
      expect(target).toMatch(/^https:\/\/m\.example\/\d+x{200}$/);
    }
  });

  test('for any input, no link is an edge’s, targets are absolute, and rebuilding twice changes nothing', () => {
    const piece = fc.oneof(
      fc.constantFrom('<', '>', '"', '\\', ',', ';', 'rel=', 'duplicate', ' ', '=', EDGE_RELATION),
      fc.constantFrom(
        'https://m.example/a',
        '../a',
        'describedby',
        'next',
        'anchor=',
        'pref',
        'type=',
      ),
      fc.string({ maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const field = rebuild(pieces.join(''));
        if (field === undefined) return;
        expect(parseEdgeLinks({ link: field }, BASE)).toEqual([]);
        for (const { target, rel } of parseLinks({ link: field })) {
          expect(target).toMatch(/^https?:\/\//);
          for (const one of rel) expect(KEPT).toContain(one);
        }
        expect(rebuild(field)).toBe(field);
      }),
      { numRuns: 2000 },
    );
  });
});

test('links to other pages of a list lead through an edge, where it serves them, and no others do', () => {
  const field = rebuild(
    '<?page=2>; rel=next, <b.iso>; rel=duplicate; pri=1, <//other.example/>; rel=last, <c>; rel="next duplicate"',
  );
  const lead = ({ host, href }: URL) =>
    host === 'files.example' ? `https://edge.example/${href}` : undefined;
  expect(leadPages(field ?? '', lead).split(', ')).toEqual([
    '<https://edge.example/https://files.example/dir/a.iso?page=2>; rel="next"',
    '<https://files.example/dir/b.iso>; rel="duplicate"; pri="1"',
    '<https://other.example/>; rel="last"',
    '<https://files.example/dir/c>; rel="duplicate next"',
  ]);
});
