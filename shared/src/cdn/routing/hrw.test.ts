import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../../../testing/draws/any-text.ts';
import { type Hash64, type HrwNode, hashText, rank, score } from './hrw.ts';

const FIRST_CHUNK = 'http://www.example.com/file.iso,start=0,end=999999';

const node = (name: string, weight = 1): HrwNode => ({ name, seed: hashText(name), weight });
const nodesOf = (count: number) => Array.from({ length: count }, (_, i) => node(`edge-${i}`));
const keysOf = (count: number) =>
  Array.from({ length: count }, (_, i) => `http://x/f,start=${i * 1000},end=${i * 1000 + 999}`);
const best = (key: string, nodes: readonly HrwNode[]) => rank(key, nodes, 1)[0]?.name ?? '';
const names = (nodes: readonly HrwNode[]) => nodes.map((n) => n.name);

function countOwned(keys: readonly string[], nodes: readonly HrwNode[]): Map<string, number> {
  const counts = new Map(nodes.map((n) => [n.name, 0]));
  for (const key of keys) {
    const owner = best(key, nodes);
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return counts;
}

// The same functions in integers that cannot overflow: the results of the functions under test must
// not depend on their 32-bit tricks.
const WORD = (1n << 32n) - 1n;
const times = (a: bigint, b: bigint) => (a * b) & WORD;
const rotate = (a: bigint, by: bigint) => ((a << by) | (a >> (32n - by))) & WORD;

function mixAgain(h: bigint, l: bigint): [bigint, bigint] {
  for (let round = 0; round < 2; round++) {
    h = times(h ^ (h >> 16n), 0x7feb352dn);
    l = times(l ^ (l >> 15n), 0x846ca68bn) ^ h;
    h = times(h ^ (h >> 15n), 0x9e3779b1n) ^ l;
    l ^= l >> 16n;
    h ^= h >> 13n;
  }
  return [h, l];
}

function hashAgain(text: string): [bigint, bigint] {
  let h = 0x6a09e667n;
  let l = 0xbb67ae85n;
  for (let i = 0; i < text.length; i++) {
    const unit = BigInt(text.charCodeAt(i));
    h = rotate(times(h ^ unit, 0x9e3779b1n), 13n);
    l = rotate(times(l ^ unit, 0x85ebca77n), 17n);
  }
  return mixAgain(h ^ BigInt(text.length), l ^ h);
}

function scoreAgain(chunk: string, name: string): bigint {
  const [ch, cl] = hashAgain(chunk);
  const [nh, nl] = hashAgain(name);
  const [h, l] = mixAgain(ch ^ nl, cl ^ nh);
  return (h << 21n) | (l >> 11n);
}

describe('the pinned hash', () => {
  test.each<[string, Hash64]>([
    ['', { high: 0x30890514, low: 0x858b104d }],
    ['a', { high: 0xc8690e26, low: 0x66019ef0 }],
    ['b', { high: 0x683b8d7c, low: 0x43b9436a }],
    ['ab', { high: 0xbb96aea0, low: 0x03289a45 }],
    ['ba', { high: 0x52255f32, low: 0x48627676 }],
    ['edge-1', { high: 0xfb06edad, low: 0xbe56650a }],
    ['edge-2', { high: 0xd0af6d50, low: 0x8c40553d }],
    ['edge-3:3125', { high: 0x0951a2db, low: 0xbd7b7176 }],
    [FIRST_CHUNK, { high: 0x91abf4b1, low: 0x1c9f0186 }],
    ['ü', { high: 0x3dcc56e2, low: 0x345bf056 }],
    ['😀', { high: 0x9a97d042, low: 0x6a59d9ce }],
  ])('of %j never changes', (text, hash) => {
    expect(hashText(text)).toEqual(hash);
  });

  test.each([
    ['', 'a', 4652929448352290],
    ['a', 'edge-1', 1793032330885531],
    [FIRST_CHUNK, 'edge-1', 2342166228575517],
    [FIRST_CHUNK, 'edge-2', 440671715910277],
    [FIRST_CHUNK, 'edge-3:3125', 7201627637067558],
  ])('the score of chunk %j at %s never changes', (chunk, name, value) => {
    expect(score(hashText(chunk), hashText(name))).toBe(value);
  });

  test('is what arithmetic without overflow gives', () => {
    const text = anyText({ maxLength: 60 });
    fc.assert(
      fc.property(text, text, (chunk, name) => {
        const [high, low] = hashAgain(chunk);
        expect(hashText(chunk)).toEqual({ high: Number(high), low: Number(low) });
        const value = score(hashText(chunk), hashText(name));
        expect(value).toBe(Number(scoreAgain(chunk, name)));
        expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
      }),
    );
  });

  test('tells all chunks of a huge file apart', () => {
    const seen = new Set(keysOf(20_000).map((key) => Object.values(hashText(key)).join()));
    expect(seen.size).toBe(20_000);
  });
});

describe('rank', () => {
  test.each([
    ['equal', [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], ['5297430816', '0298671354', '2643798015']],
    ['different', [1, 2, 4, 0.5], ['2103', '0213', '2130', '2130', '2103']],
  ])('the order among nodes of %s weight never changes', (_, weights, orders) => {
    const nodes = weights.map((weight, i) => node(`edge-${i}`, weight));
    const ranked = keysOf(orders.length).map((key) => rank(key, nodes, nodes.length));
    expect(ranked.map((r) => r.map((n) => n.name.slice(5)).join(''))).toEqual(orders);
  });

  test('gives as many nodes as are wanted, if there are enough', () => {
    expect(rank('x', [], 3)).toEqual([]);
    expect(rank('x', nodesOf(2), 3)).toHaveLength(2);
    expect(rank('x', nodesOf(9), 3)).toHaveLength(3);
    expect(rank('x', nodesOf(9), 0)).toEqual([]);
  });

  test.each([2, 10, 40])('%d nodes get about the same number of chunks', (count) => {
    const counts = [...countOwned(keysOf(count * 300), nodesOf(count)).values()];
    expect(Math.max(...counts) / 300).toBeLessThan(1.2);
    expect(Math.min(...counts) / 300).toBeGreaterThan(0.8);
  });

  test('nodes named by their addresses share chunks as evenly as others', () => {
    const nodes = Array.from({ length: 20 }, (_, i) => node(`10.0.0.${i + 1}:3125`));
    const counts = [...countOwned(keysOf(8_000), nodes).values()];
    expect(Math.max(...counts) / 400).toBeLessThan(1.2);
    expect(Math.min(...counts) / 400).toBeGreaterThan(0.8);
  });

  test('a node with twice the weight gets twice the chunks', () => {
    const nodes = [node('big', 2), node('a'), node('b'), node('c')];
    const counts = countOwned(keysOf(20_000), nodes);
    const others = [...counts.values()].slice(1);
    const mean = others.reduce((sum, count) => sum + count) / others.length;
    expect((counts.get('big') ?? 0) / mean).toBeGreaterThan(1.9);
    expect((counts.get('big') ?? 0) / mean).toBeLessThan(2.1);
    expect(Math.max(...others) / mean).toBeLessThan(1.1);
  });

  test('the chunks of a node that leaves spread over all that stay', () => {
    const nodes = nodesOf(10);
    const rest = nodes.slice(1);
    const orphans = keysOf(20_000).filter((key) => best(key, nodes) === 'edge-0');
    const counts = [...countOwned(orphans, rest).values()];
    const mean = orphans.length / rest.length;
    expect(Math.max(...counts) / mean).toBeLessThan(1.25);
    expect(Math.min(...counts) / mean).toBeGreaterThan(0.75);
  });

  const someNodes = fc
    .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z0-9]{1,8}$/), fc.constantFrom(1, 1, 2, 0.25)), {
      minLength: 2,
      maxLength: 20,
      selector: ([name]) => name,
    })
    .map((all) => all.map(([name, weight]) => node(name, weight)));
  const key = fc.nat().map((n) => `https://example.com/a,start=${n},end=${n + 9}`);

  test('a node that leaves or comes moves no chunk between the others', () => {
    fc.assert(
      fc.property(someNodes, fc.nat(), key, (nodes, pick, chunk) => {
        const gone = nodes[pick % nodes.length];
        const rest = nodes.filter((n) => n !== gone);
        const before = rank(chunk, nodes, nodes.length);
        expect(rank(chunk, rest, rest.length)).toEqual(before.filter((n) => n !== gone));
      }),
    );
  });

  test('a node that gets more weight takes chunks, and the others keep their order', () => {
    fc.assert(
      fc.property(someNodes, fc.nat(), key, (nodes, pick, chunk) => {
        const grown = nodes[pick % nodes.length] as HrwNode;
        const after = nodes.map((n) => (n === grown ? { ...n, weight: n.weight * 3 } : n));
        const order = names(rank(chunk, nodes, nodes.length));
        const newOrder = names(rank(chunk, after, after.length));
        const others = (all: string[]) => all.filter((name) => name !== grown.name);
        expect(others(newOrder)).toEqual(others(order));
        expect(newOrder.indexOf(grown.name)).toBeLessThanOrEqual(order.indexOf(grown.name));
      }),
    );
  });

  test('nodes agree, in whatever order they know each other', () => {
    fc.assert(
      fc.property(
        someNodes.chain((nodes) =>
          fc.tuple(
            fc.constant(nodes),
            fc.shuffledSubarray(nodes, { minLength: nodes.length, maxLength: nodes.length }),
          ),
        ),
        key,
        fc.integer({ min: 1, max: 20 }),
        ([nodes, shuffled], chunk, count) => {
          expect(rank(chunk, shuffled, count)).toEqual(rank(chunk, nodes, count));
        },
      ),
    );
  });

  test('nodes agree even on nodes with the same score', () => {
    const twin = { ...node('a'), name: 'b' };
    expect(names(rank('x', [node('a'), twin], 2))).toEqual(['a', 'b']);
    expect(names(rank('x', [twin, node('a')], 2))).toEqual(['a', 'b']);
    expect(names(rank('x', [twin, node('a')], 1))).toEqual(['a']);
  });

  test('a larger number of replicas only adds nodes at the end', () => {
    fc.assert(
      fc.property(someNodes, key, (nodes, chunk) => {
        const all = rank(chunk, nodes, nodes.length);
        expect(new Set(all)).toEqual(new Set(nodes));
        for (let k = 1; k <= nodes.length; k++) {
          expect(rank(chunk, nodes, k)).toEqual(all.slice(0, k));
        }
      }),
    );
  });
});
