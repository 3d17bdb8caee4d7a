import { describe, expect, test } from '@jest/globals';
import { MAX_NAMED, nameEdges, usableEdges } from './named-edges.ts';

const edge = (
  name: string,
  addresses: readonly string[],
  healthy = true,
  { serves }: { readonly serves: string | undefined } = { serves: 'usual' },
) => ({
  ...{
    name,
    addresses,
    healthy,
    serves,
    url: addresses.join(),
    rttMs: 10,
    km: undefined,
    peerMs: 0,
  },
  ...{ load: 0, weight: 1, room: 1 },
});
const byName = <E extends { readonly name: string }>(edges: readonly E[]) =>
  edges.toSorted((a, b) => (a.name < b.name ? -1 : 1));

describe('an answer', () => {
  test('names the first edges with all their addresses', () => {
    const edges = [edge('c', ['3.3.3.3']), edge('a', ['1.1.1.1', '::1']), edge('b', ['2.2.2.2'])];
    expect(nameEdges(usableEdges(edges, 'usual'), 2, byName)).toEqual({
      addresses: ['1.1.1.1', '::1', '2.2.2.2'],
      dependsOnClient: true,
    });
  });

  test('leaves out edges that are not healthy', () => {
    const edges = [edge('a', ['1.1.1.1'], false), edge('b', ['2.2.2.2'])];
    expect(usableEdges(edges, 'usual').noneHealthy).toBe(false);
    expect(nameEdges(usableEdges(edges, 'usual'), 2, byName).addresses).toEqual(['2.2.2.2']);
  });

  test('names all edges, within bounds, if none is healthy', () => {
    const edges = Array.from({ length: 12 }, (_, i) => edge(`e${i}`, [`1.1.1.${i}`], false));
    const usable = usableEdges(edges, 'usual');
    expect(usable.noneHealthy).toBe(true);
    expect(nameEdges(usable, 2, byName).addresses).toHaveLength(MAX_NAMED);
  });

  test('counts processes of one edge once, and does not depend on the client then', () => {
    const edges = [edge('a-0', ['1.1.1.1']), edge('a-1', ['1.1.1.1'])];
    expect(nameEdges(usableEdges(edges, 'usual'), 2, byName)).toEqual({
      addresses: ['1.1.1.1'],
      dependsOnClient: false,
    });
  });

  test('names nothing if nothing is known', () => {
    expect(nameEdges(usableEdges([], 'usual'), 2, byName).addresses).toEqual([]);
  });
});

describe('edges whose policies differ', () => {
  const from = (healthy: string, own?: string) => {
    const all = [...healthy].map((serves, i) =>
      edge(`e${i}`, [`1.1.1.${i}`], true, { serves: serves === '-' ? undefined : serves }),
    );
    const { edges, others } = usableEdges(all, own);
    const policies = (of: typeof all) => of.map(({ serves = '-' }) => serves).join('');
    return [policies([...edges]), policies([...others])];
  };

  test('are left out if they are fewer, whatever the policy of the edge that answers', () => {
    expect(from('aab', 'a')).toEqual(['aa', 'b']);
    expect(from('aab', 'b')).toEqual(['aa', 'b']);
    expect(from('abcacb', undefined)).toEqual(['aa', 'bccb']);
  });

  test('are left out by the policy of the edge that answers if as many have another', () => {
    expect(from('abab', 'b')).toEqual(['bb', 'aa']);
    expect(from('abab', 'c')).toEqual(['aa', 'bb']);
  });

  test('are named if their policy is not known', () => {
    expect(from('a-b-a', 'a')).toEqual(['a--a', 'b']);
    expect(from('---', 'a')).toEqual(['---', '']);
  });

  test('are named if no other is healthy', () => {
    const edges = [
      edge('a', ['1.1.1.1'], false, { serves: 'a' }),
      edge('b', ['2.2.2.2'], true, { serves: 'b' }),
    ];
    expect(usableEdges(edges, 'a')).toEqual({
      edges: [edges[1]],
      noneHealthy: false,
      others: [],
    });
  });
});
