import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { FakeOrigin } from '../../testing/fake-origin.ts';
import { offerOf, World } from '../../testing/fake-surroundings.ts';

const LENGTH = 24 * 1024 * 1024;
const URL = 'http://origin.example/file.bin';
const EDGE = 'http://edge.example';

const FILE = new Uint8Array(LENGTH).map((_, i) => (i * 31) ^ (i >> 13));
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Fetches a file with the help of an edge that its publisher has named. */
async function fetched(prepare: (origin: FakeOrigin) => void) {
  const origin = new FakeOrigin(FILE);
  const it = new World(origin.fetch, seededRandom(3));
  const engine = await it.start();
  await engine.call(offerOf(URL, LENGTH, { edges: [EDGE], published: [EDGE] }));
  prepare(origin);
  await engine.call({ type: 'commit', handOff: URL });
  await it.until(engine, ([record]) => record?.state === 'saving');
  const [bytes] = await it.saveAll(engine);
  const byEdge = origin.asked.filter(({ url }) => url.startsWith(EDGE));
  return { digest: digestOf(bytes as Uint8Array), byEdge };
}

const isLarge = ({ range }: { range: { start: number; end: number } }) =>
  range.end - range.start > 64 * 1024;

describe('an edge that a publisher names', () => {
  test('is used once its samples equal the origin’s', async () => {
    const { digest, byEdge } = await fetched((origin) => {
      // The origin refuses larger ranges for the moment.
      const field = { 'retry-after': '1' };
      origin.fault = (asked) =>
        asked.url === URL && isLarge(asked)
          ? new Response(null, { status: 503, headers: field })
          : undefined;
    });
    expect(digest).toBe(digestOf(FILE));
    expect(byEdge.slice(0, 6).some(isLarge)).toBe(false);
    expect(byEdge.slice(6).some(isLarge)).toBe(true);
  });

  test('that has another file of the same length and tag gives no byte of it', async () => {
    const { digest, byEdge } = await fetched((origin) => {
      origin.fault = ({ url, range: { start, end } }) =>
        url.startsWith(EDGE) ? origin.answer(start, end, new Uint8Array(end - start)) : undefined;
    });
    expect(digest).toBe(digestOf(FILE));
    expect(byEdge.some(isLarge)).toBe(false);
  });

  test('is not used if it redirects', async () => {
    const { digest, byEdge } = await fetched((origin) => {
      origin.fault = ({ url, redirect }) => {
        if (!url.startsWith(EDGE)) return undefined;
        if (redirect !== 'manual') throw new Error('it is followed');
        const answer = new Response(null);
        Object.defineProperty(answer, 'type', { value: 'opaqueredirect' });
        Object.defineProperty(answer, 'status', { value: 0 });
        return answer;
      };
    });
    expect(digest).toBe(digestOf(FILE));
    expect(byEdge).toHaveLength(1);
  });
});
