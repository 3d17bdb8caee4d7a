import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LinkPrefixer } from './link-prefixer.ts';

const BASE = 'http://edge.example:3125';

function rewritten(page: string, cuts: readonly number[] = [], hosts = ['files.example']): string {
  const prefixer = new LinkPrefixer(hosts, BASE);
  const bytes = Buffer.from(page);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let start = 0;
  const out = ends.map((end) => {
    const piece = prefixer.push(bytes.subarray(start, end));
    start = end;
    return piece;
  });
  return Buffer.concat([...out, prefixer.end()]).toString();
}

describe('LinkPrefixer', () => {
  test('links to the hosts lead through the edge, in HTML and in JSON', () => {
    const page =
      '<a href="https://files.example/a.whl#sha256=0">a</a> {"url":"http://files.example/b"}';
    expect(rewritten(page)).toBe(
      `<a href="${BASE}/https://files.example/a.whl#sha256=0">a</a> {"url":"${BASE}/http://files.example/b"}`,
    );
  });

  test.each([
    'https://other.example/a',
    'https://files.example.org/a',
    'https://xfiles.example/a',
    'https://files.example:8080/a',
    'files.example/a',
    '/a',
    '',
  ])('%j stays as it is', (text) => expect(rewritten(text)).toBe(text));

  test('a page in pieces becomes the same as in one', () => {
    const text = fc
      .array(
        fc.constantFrom('https://files.example/', 'http', 's://files.', 'example', '/', 'x\u20ac'),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200)), (page, cuts) => {
        expect(rewritten(page, cuts)).toBe(
          page.replaceAll(/https?:\/\/files\.example\//g, (link) => `${BASE}/${link}`),
        );
      }),
    );
  });
});
