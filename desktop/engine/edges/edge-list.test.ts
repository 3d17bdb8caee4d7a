import { describe, expect, test } from '@jest/globals';
import { ChunkOwners } from './chunk-owners.ts';
import { parseEdgeList } from './edge-list.ts';

const edge = (name: string, over: object = {}) => ({
  name,
  url: `http://${name}.example:3125/`,
  healthy: true,
  rttMs: 1,
  load: 0,
  weight: 1,
  ...over,
});
const answer = (over: object = {}) =>
  JSON.stringify({
    chunkBytes: 1_048_576,
    routing: 'hrw-1',
    edges: [edge('a'), edge('b'), edge('c', { healthy: false })],
    ...over,
  });

describe('parseEdgeList', () => {
  test('returns the healthy edges', () => {
    expect(parseEdgeList(answer())?.edges.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('gives an edge without a weight the weight 1', () => {
    const text = answer({ edges: [edge('a', { weight: undefined })] });
    expect(parseEdgeList(text)?.edges).toMatchObject([{ name: 'a', weight: 1 }]);
  });

  test.each([
    ['no JSON', 'what?'],
    ['another way of routing', answer({ routing: 'hrw-2' })],
    ['chunks of no legal size', answer({ chunkBytes: 0 })],
    ['an address of a file', answer({ edges: [edge('a', { url: 'file:///etc/passwd' })] })],
    ['an address that is not a URL', answer({ edges: [edge('a', { url: 'a.example:3125' })] })],
    ['a weight of nothing', answer({ edges: [edge('a', { weight: 0 })] })],
    [
      'a weight without end',
      answer({ edges: [edge('a')] }).replace('"weight":1', '"weight":1e999'),
    ],
    ['a weight in words', answer({ edges: [edge('a', { weight: 'much' })] })],
    ['an edge without a name', answer({ edges: [edge('')] })],
    ['a name without end', answer({ edges: [edge('a', { name: 'a'.repeat(256) })] })],
    ['an edge that may be well', answer({ edges: [edge('a', { healthy: 'yes' })] })],
    ['chunks of half a byte', answer({ chunkBytes: 65_536.5 })],
    ['chunks in words', answer({ chunkBytes: '1048576' })],
    ['edges that are not a list', answer({ edges: {} })],
    ['an edge that is null', answer({ edges: [null] })],
    ['a list', '[]'],
    ['nothing', 'null'],
    ['more edges than anybody has', answer({ edges: Array(1001).fill(edge('a')) })],
  ])('returns undefined for %s, without an error', (_what, text) => {
    expect(parseEdgeList(text)).toBeUndefined();
  });
});

test('every chunk has exactly one owner, and it is the one that edges route to', () => {
  const list = parseEdgeList(answer());
  if (list === undefined) throw new Error('not understood');
  const owners = new ChunkOwners('https://example.com/a.iso', list);
  const owned = list.edges.map((node) => {
    const positions = Array.from({ length: 1000 }, (_, i) => i * list.chunkBytes);
    return positions.filter((position) => owners.owns(node, position));
  });
  expect(new Set(owned.flat()).size).toBe(1000);
  expect(owned.flat()).toHaveLength(1000);
  for (const mine of owned) expect(mine.length).toBeGreaterThan(300);
});

test('an edge with an address longer than any that is fetched makes the list unreadable', () => {
  const url = `http://a.example/${'a'.repeat(10_000)}`;
  const text = { routing: 'hrw-1', chunkBytes: 2 ** 20, edges: [edge('a')] };
  expect(parseEdgeList(JSON.stringify(text))).toBeDefined();
  expect(parseEdgeList(JSON.stringify({ ...text, edges: [edge('a', { url })] }))).toBeUndefined();
});
