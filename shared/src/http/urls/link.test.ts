import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseLinks } from './link.ts';

const parse = (...link: string[]) =>
  parseLinks({ link }).map(({ target, rel, parameters }) => ({
    target,
    rel,
    ...Object.fromEntries([...parameters].filter(([name]) => name !== 'rel')),
  }));

describe('the Link field', () => {
  test.each([
    ['<http://a/>; rel=duplicate', { target: 'http://a/', rel: ['duplicate'] }],
    ['<http://a/>;rel="duplicate"', { target: 'http://a/', rel: ['duplicate'] }],
    [
      '< http://a/ > ; Rel = "Next  Duplicate"',
      { target: 'http://a/', rel: ['next', 'duplicate'] },
    ],
    ['<a,b;c>; rel=x; pri=1', { target: 'a,b;c', rel: ['x'], pri: '1' }],
    ['<a>; rel=x; pref; depth=2', { target: 'a', rel: ['x'], pref: '', depth: '2' }],
    ['<a>; rel=x; rel=y', { target: 'a', rel: ['x'] }],
    ['<a>; rel=x; title="a, \\"b\\"; c"', { target: 'a', rel: ['x'], title: 'a, "b"; c' }],
    [
      '<a>; rel=x; t=application/metalink4+xml',
      { target: 'a', rel: ['x'], t: 'application/metalink4+xml' },
    ],
    [
      "<a>; rel=x; title*=UTF-8'de'%c3%bc",
      { target: 'a', rel: ['x'], 'title*': "UTF-8'de'%c3%bc" },
    ],
    ['<a>;; ;rel=x;', { target: 'a', rel: ['x'] }],
    ['<>; rel=self', { target: '', rel: ['self'] }],
    ['<a>', { target: 'a', rel: [] }],
    ['<a>; rel=', { target: 'a', rel: [] }],
    ['<a>; rel=x; b="unclosed', { target: 'a', rel: ['x'] }],
  ])('%s', (field, link) => {
    expect(parse(field)).toEqual([link]);
  });

  test('several links in one field and several fields are one list', () => {
    const links = parse('<a>; rel=x, <b>; rel="y,z" , ,<c>; rel=x', '<d>;rel=x');
    expect(links.map(({ target }) => target)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('a malformed part does not hide the links after it', () => {
    expect(parse('nonsense, <b>; rel=x').map(({ target }) => target)).toEqual(['b']);
    expect(parse('"a, <b>", <c>; rel=x').map(({ target }) => target)).toEqual(['c']);
    expect(parse('<a>; rel=x; =1; b=2, <c>').map(({ target }) => target)).toEqual(['a', 'c']);
    expect(parse('<a', '<b>; rel=x').map(({ target }) => target)).toEqual(['a, <b']);
    expect(parse('<a; rel=x')).toEqual([]);
    expect(parse('')).toEqual([]);
    expect(parseLinks({})).toEqual([]);
  });

  test('the number and the length of links are limited', () => {
    expect(parse(Array.from({ length: 300 }, (_, i) => `<${i}>`).join(','))).toHaveLength(256);
    expect(parse(`<a>; t="${'x'.repeat(65_536)}"`)).toEqual([]);
  });

  test('any field is read in little time', () => {
    const piece = fc.oneof(
      fc.constantFrom('<', '>', ';', ',', '"', '\\', '=', ' ', 'rel', '<a>', '"\\"'),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        for (const { target } of parse(pieces.join(''))) expect(target).not.toContain('>');
      }),
    );
    const tail = ' '.repeat(30_000);
    expect(parse(`<a>; b=${tail}"c, <d>; e${tail}"`)).toHaveLength(1);
    for (const part of ['"', '\\', '<', ';', 'a=', ' ', ';a="', ',', '<a>;']) {
      const field = part.repeat(Math.floor(65_000 / part.length));
      expect(parse(field).length).toBeLessThanOrEqual(256);
      expect(parse(`<a>;${field}`).length).toBeLessThanOrEqual(256);
    }
  });

  test('written links are read back', () => {
    const token = fc.stringMatching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,8}$/);
    const link = fc.record({
      target: fc.string({ unit: fc.constantFrom('a', '/', ':', ',', ';', '"', '=', '<', '?') }),
      rel: fc.array(token, { minLength: 1, maxLength: 3 }),
      title: fc.string({ unit: fc.constantFrom('a', '"', '\\', ',', ';', '<', '>', ' ', 'ü') }),
    });
    fc.assert(
      fc.property(fc.array(link, { maxLength: 5 }), (links) => {
        const field = links.map(
          ({ target, rel, title }) =>
            `<${target}>; rel="${rel.join(' ')}"; title="${title.replace(/["\\]/g, '\\$&')}"`,
        );
        expect(parse(field.join(', '))).toEqual(links);
        expect(parse(...field)).toEqual(links);
      }),
    );
  });
});
