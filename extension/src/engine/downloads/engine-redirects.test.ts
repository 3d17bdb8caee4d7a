import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { FakeOrigin } from '../../testing/fake-origin.ts';
import { offerOf, World } from '../../testing/fake-surroundings.ts';

const LENGTH = 20 * 1024 * 1024;
const URL_ = 'http://origin.example/file.bin';
const FILE = new Uint8Array(LENGTH).map((_, i) => (i * 7) ^ (i >> 11));
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Fetches a file from an origin that redirects to a URL that expires after `goodFor` requests. */
async function fetched(goodFor: number, status = 403) {
  const origin = new FakeOrigin(FILE);
  const walks: string[] = [];
  const direct: Headers[] = [];
  let ticket = 0;
  let left = 0;
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const walked = url === URL_;
    if (walked) {
      walks.push(url);
      ticket++;
      left = goodFor;
    } else {
      direct.push(new Headers(init.headers));
    }
    const at = `http://cdn.example/file.bin?t=${ticket}`;
    if (!walked && (url !== at || left <= 0)) return new Response(null, { status });
    left--;
    const response = await origin.fetch(at, init);
    Object.defineProperty(response, 'url', { value: at });
    return response;
  };
  const it = new World(fetch, seededRandom(5));
  const engine = await it.start();
  const headers = { Authorization: 'Basic eDp5' };
  const finalUrl = 'http://cdn.example/file.bin?t=1';
  await engine.call(offerOf(URL_, LENGTH, { headers, finalUrl }));
  await engine.call({ type: 'commit', handOff: URL_ });
  await it.until(engine, ([record]) => record?.state === 'saving');
  const [bytes] = await it.saveAll(engine);
  return { walks: walks.length, direct, digest: digestOf(bytes as Uint8Array) };
}

test('redirects are followed once, not for each range', async () => {
  const { walks, direct, digest } = await fetched(Number.POSITIVE_INFINITY);
  expect(digest).toBe(digestOf(FILE));
  expect(walks).toBe(1);
  expect(direct.length).toBeGreaterThan(5);
  // Credentials belong to the origin that redirected.
  for (const headers of direct) expect(headers.get('authorization')).toBeNull();
});

test.each([403, 404, 410])(
  'redirects are followed again once their final URL has expired: %d',
  async (status) => {
    const { walks, digest } = await fetched(4, status);
    expect(digest).toBe(digestOf(FILE));
    expect(walks).toBeGreaterThan(1);
  },
);
