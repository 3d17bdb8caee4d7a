import { describe, expect, test } from '@jest/globals';
import { MAX_EDGES } from '@millrace/shared/download/edges/edge-order';
import { nearestFirst } from './nearest-first.ts';
import { RttMemory } from './rtt-memory.ts';

interface Edge {
  readonly url: string;
}

const listed = (count: number): Edge[] =>
  Array.from({ length: count }, (_, i) => ({ url: `http://e${i}.example` }));

/** Hands out edges whose answers the test gives. */
function stage(edges: readonly Edge[], memory = new RttMemory(() => 0)) {
  const handed: string[] = [];
  const asked: string[] = [];
  const answers = new Map<string, PromiseWithResolvers<number>>();
  const controller = new AbortController();
  const done = nearestFirst<Edge>({
    edges,
    firstMs: 0,
    memory,
    measure: ({ url }) => {
      asked.push(url);
      const answer = Promise.withResolvers<number>();
      answers.set(url, answer);
      return answer.promise;
    },
    onEdge: async ({ url }) => void handed.push(url),
    signal: controller.signal,
  });
  const answer = (url: string) => answers.get(url) as PromiseWithResolvers<number>;
  return { handed, asked, answer, done, controller, memory };
}

describe('nearestFirst', () => {
  test('edges come in the order of their answers, not of the list', async () => {
    const edges = listed(3);
    const { handed, answer, done, memory } = stage(edges);
    const [a, b, c] = edges.map(({ url }) => url) as [string, string, string];
    for (const url of [c, a, b]) {
      answer(url).resolve(5);
      await answer(url).promise;
    }
    await done;
    expect(handed).toEqual([c, a, b]);
    expect(memory.rtt(c)).toBe(5);
  });

  test('edges without an answer come last', async () => {
    const [a, b] = listed(2) as [Edge, Edge];
    const { handed, answer, done, memory } = stage([a, b]);
    answer(a.url).reject(new Error('refused'));
    answer(b.url).resolve(5);
    await done;
    expect(handed).toEqual([b.url, a.url]);
    expect(memory.rtt(a.url)).toBeUndefined();
  });

  test('an edge that was measured lately is not asked', async () => {
    const [a, b] = listed(2) as [Edge, Edge];
    const memory = new RttMemory(() => 0);
    memory.onMeasured(b.url, 3);
    const { handed, asked, answer, done } = stage([a, b], memory);
    await Promise.resolve();
    expect(handed).toEqual([b.url]);
    answer(a.url).resolve(9);
    await done;
    expect([asked, handed]).toEqual([[a.url], [b.url, a.url]]);
  });

  test('the slowest of too many edges are left out', async () => {
    const edges = listed(MAX_EDGES + 3);
    const { handed, answer, done } = stage(edges);
    const reversed = edges.map(({ url }) => url).toReversed();
    await Promise.resolve();
    for (const url of reversed) {
      answer(url).resolve(1);
      await answer(url).promise;
    }
    await done;
    expect(handed).toEqual(reversed.slice(0, MAX_EDGES));
  });

  test('ends with the download, and hands out no silent edge then', async () => {
    const [a] = listed(1) as [Edge];
    const { handed, answer, done, controller } = stage([a]);
    controller.abort(new Error('over'));
    answer(a.url).reject(new Error('aborted'));
    await expect(done).rejects.toThrow('over');
    expect(handed).toEqual([]);
  });
});
