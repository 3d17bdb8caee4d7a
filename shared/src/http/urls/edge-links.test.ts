import { describe, expect, test } from '@jest/globals';
import { EDGE_RELATION, parseEdgeLinks } from './edge-links.ts';

const PAGE = 'https://www.example.com/downloads/';
const edges = (link: string, url = PAGE) => parseEdgeLinks({ link }, url);
const named = (target: string) => `<${target}>; rel="${EDGE_RELATION}"`;

describe('edges named by publishers', () => {
  test('are listed in order, each once', () => {
    const link = [
      named('https://a.example/'),
      named('https://b.example'),
      named('https://a.example'),
    ];
    expect(edges(link.join(', '))).toEqual(['https://a.example/', 'https://b.example/']);
  });

  test('may have a path, and may be relative', () => {
    expect(edges(named('/edge/'))).toEqual(['https://www.example.com/edge/']);
  });

  test('may use http if the page was fetched over http', () => {
    expect(edges(named('http://a.example/'), 'http://www.example.com/')).toEqual([
      'http://a.example/',
    ]);
  });

  test.each([
    ['another relation', '<https://a.example/>; rel="duplicate"'],
    ['an anchor', `${named('https://a.example/')}; anchor="https://other.example/"`],
    ['no encryption', named('http://a.example/')],
    ['another scheme', named('javascript:alert(1)')],
    ['credentials', named('https://user:word@a.example/')],
    ['a query', named('https://a.example/?url=')],
    ['nothing', named('')],
    ['no URL', named('https://')],
  ])('do not include a link with %s', (_, link) => {
    expect(edges(link)).toEqual([]);
  });

  test('are limited in number', () => {
    const many = Array.from({ length: 100 }, (_, i) => named(`https://e${i}.example/`));
    expect(edges(many.join(', '))).toHaveLength(8);
  });
});
