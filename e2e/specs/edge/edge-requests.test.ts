/** Requests of unmodified clients to an edge, and their answers. */

import { Agent, request } from 'node:http';
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  MultipartReader,
  multipartBoundary,
} from '@millrace/shared/http/messages/multipart-reader';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';

const origin = await FaultOrigin.start();
const edge = await EdgeProcess.start([
  '--allow-origin',
  '127.0.0.1',
  '--chunk-size',
  '64KiB',
  '--default-scheme',
  'http',
  '--name',
  'test-edge',
]);
const url = origin.url('none');
const content = origin.content(url);

afterAll(async () => {
  await edge.stop();
  await origin.stop();
});

/** Puts the bytes of a multipart/byteranges response in place. @returns also the parts' order */
function assemble(got: Fetched, size: number): { data: Buffer; order: number[] } {
  const reader = new MultipartReader(multipartBoundary(got.headers['content-type']) ?? '');
  const data = Buffer.alloc(size);
  const order: number[] = [];
  for (const event of reader.push(got.body)) {
    if (event.kind === 'part') order.push(event.range.start);
    if (event.kind === 'data') data.set(event.bytes, event.position);
  }
  expect(reader.ended).toBe(true);
  return { data, order };
}

describe('prefixed URLs', () => {
  const forms: [string, (bare: string) => string][] = [
    ['with the scheme', (bare) => `/http://${bare}`],
    ['without a scheme', (bare) => `/${bare}`],
    ['with the slashes collapsed', (bare) => `/http:/${bare}`],
    ['with the scheme in capitals', (bare) => `/HTTP://${bare}`],
    ['with the colon encoded', (bare) => `/http%3A//${bare}`],
  ];
  test.each(forms)('%s', async (_name, form) => {
    const got = await fetchAll(edge.url + form(url.slice('http://'.length)));
    expect(got.status).toBe(200);
    expect(got.digest).toBe(sha256(content));
  });

  const names = [
    'with%20space.iso',
    'a,b,start=5,end=9.iso',
    '100%25.iso',
    'caf%C3%A9-%E2%82%AC.iso',
    'semi;colon&and=equals+plus.iso',
    "quote'and(parens)!.iso",
    '%2e%2e%2fnot-up.iso',
  ];
  test.each(names)('reach a file named %s', async (name) => {
    const named = origin.url('none', { name, seed: 'named', size: 200_000 });
    const got = await fetchAll(edge.prefixed(named));
    expect(got.status).toBe(200);
    expect(got.digest).toBe(origin.digest(named));
    // The edge asks the origin for exactly the name that the client sent.
    expect(origin.requests.map((r) => r.path)).toContain(named.slice(named.indexOf('/none')));
  });

  test('bytes above ASCII in the target reach the origin as they were sent', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const name of ['caf\u00c3\u00a9.iso', 'plain.iso', '\u00e2\u0082\u00ac.iso']) {
      const named = origin.url('none', { name, seed: 'raw', size: 100_000 });
      const got = await fetchAll(edge.prefixed(named), { agent });
      expect(got.status).toBe(200);
      expect(got.digest).toBe(origin.digest(named));
      const encoded = encodeURI(Buffer.from(name, 'latin1').toString());
      expect(origin.requests.at(-1)?.path).toContain(`/none/${encoded}?`);
    }
    agent.destroy();
  });

  test('a query that looks like a chunk name is part of the file name', async () => {
    const odd = `${origin.url('none', { seed: 'odd', size: 150_000 })}&x=1,start=0,end=99`;
    const got = await fetchAll(edge.prefixed(odd));
    expect(got.digest).toBe(origin.digest(odd));
    const other = odd.replace('end=99', 'end=98');
    expect((await fetchAll(edge.prefixed(other))).headers['cache-status']).toMatch(/fwd=uri-miss/);
  });

  test.each([
    ['/ftp://127.0.0.1/x', 400, 'bad-url'],
    ['/http://user:secret@127.0.0.1/x', 400, 'credentials-in-url'],
    ['/favicon.ico', 404, 'no-such-page'],
    ['/http://', 400, 'bad-url'],
    ['/http://[::1/x', 400, 'bad-url'],
    [`/http://127.0.0.1/${'x'.repeat(9000)}`, 414, 'url-too-long'],
    ['/-/nothing', 404, 'no-such-page'],
  ])('%s is refused with %d', async (target, status, code) => {
    const got = await fetchAll(edge.url + target);
    expect(got.status).toBe(status);
    expect(got.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(JSON.parse(got.body.toString())).toMatchObject({ code, status });
  });

  test('an edge is not a forward proxy', async () => {
    const { hostname, port } = new URL(edge.url);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const req = request({ hostname, port, path: url }, (res) => {
        res.resume();
        resolve(res.statusCode);
      });
      req.once('error', reject).end();
    });
    expect(status).toBe(421);
  });

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])('%s is refused', async (method) => {
    const got = await fetchAll(edge.prefixed(url), { method });
    expect(got.status).toBe(405);
    expect(got.headers.allow).toBe('GET, HEAD');
  });
});

describe('whole files', () => {
  test('GET has length, validators and type of the origin, and the edge\u2019s own fields', async () => {
    const fresh = origin.url('one-hour', { seed: 'fields' });
    const first = await fetchAll(edge.prefixed(fresh));
    expect(first.headers).toMatchObject({
      'content-length': String(content.length),
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      etag: `"v1-${content.length}"`,
      via: '1.1 test-edge',
      age: expect.stringMatching(/^\d$/),
      'cache-status': 'test-edge; fwd=uri-miss; fwd-status=206; stored',
    });
    const second = await fetchAll(edge.prefixed(fresh));
    expect(second.headers['cache-status']).toMatch(/^test-edge; hit; ttl=3\d{3}$/);
    expect([first.digest, second.digest]).toEqual([origin.digest(fresh), origin.digest(fresh)]);
  });

  test('HEAD has the same header and no body', async () => {
    const got = await fetchAll(edge.prefixed(url), { method: 'HEAD' });
    expect(got).toMatchObject({ status: 200, complete: true });
    expect(got.headers['content-length']).toBe(String(content.length));
    expect(got.body).toHaveLength(0);
  });

  test('a file of one chunk comes with its digest', async () => {
    const small = origin.url('none', { seed: 'small', size: 40_000 });
    const got = await fetchAll(edge.prefixed(small));
    const digest = Buffer.from(origin.digest(small), 'hex').toString('base64');
    expect(got.headers['content-digest']).toBe(`sha-256=:${digest}:`);
    expect(got.digest).toBe(origin.digest(small));
  });

  test('the same connection serves one request after the other', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const range of ['bytes=0-9', 'bytes=100000-200000', 'bytes=-5']) {
      const got = await fetchAll(edge.prefixed(url), { agent, headers: { range } });
      expect(got.status).toBe(206);
    }
    const whole = await fetchAll(edge.prefixed(url), { agent });
    expect(whole.digest).toBe(sha256(content));
    agent.destroy();
  });
});

describe('ranges', () => {
  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=65535-65536', 65535, 65537],
    ['bytes=100000-', 100_000, content.length],
    ['bytes=-1000', content.length - 1000, content.length],
    ['bytes=1499999-9999999', 1_499_999, content.length],
    ['bytes=10-20,15-30', 10, 31],
    ['bytes=131072-196607', 131_072, 196_608],
  ])('%s', async (range, start, end) => {
    const got = await fetchAll(edge.prefixed(url), { headers: { range } });
    expect(got.status).toBe(206);
    expect(got.headers['content-range']).toBe(`bytes ${start}-${end - 1}/${content.length}`);
    expect(got.body.equals(content.subarray(start, end))).toBe(true);
  });

  test('several ranges come as multipart/byteranges in the order asked for', async () => {
    const range = 'bytes=900000-1000000,0-99,70000-200000';
    const got = await fetchAll(edge.prefixed(url), { headers: { range } });
    expect(got.status).toBe(206);
    expect(Number(got.headers['content-length'])).toBe(got.body.length);
    const { data, order } = assemble(got, content.length);
    expect(order).toEqual([900_000, 0, 70_000]);
    for (const [start, end] of [
      [900_000, 1_000_001],
      [0, 100],
      [70_000, 200_001],
    ] as const) {
      expect(data.subarray(start, end).equals(content.subarray(start, end))).toBe(true);
    }
  });

  test('a range past the end is refused with the length', async () => {
    const got = await fetchAll(edge.prefixed(url), { headers: { range: 'bytes=1500000-' } });
    expect(got.status).toBe(416);
    expect(got.headers['content-range']).toBe(`bytes */${content.length}`);
  });

  test('more than 32 ranges are ignored: the whole file is always right', async () => {
    const many = Array.from({ length: 33 }, (_, i) => `${i * 10}-${i * 10 + 1}`).join(',');
    const got = await fetchAll(edge.prefixed(url), { headers: { range: `bytes=${many}` } });
    expect([got.status, got.digest]).toEqual([200, sha256(content)]);
  });

  test.each(['items=0-5', 'bytes=5-1', 'bytes=a-b'])('%s is ignored', async (range) => {
    const got = await fetchAll(edge.prefixed(url), { headers: { range } });
    expect(got.status).toBe(200);
    expect(got.digest).toBe(sha256(content));
  });
});

describe('conditions', () => {
  const etag = `"v1-${content.length}"`;
  const date = new Date('2026-01-03T03:04:05Z').toUTCString();
  test.each([
    [{ 'if-none-match': etag }, 304],
    [{ 'if-none-match': `"x", W/${etag}` }, 304],
    [{ 'if-none-match': '"x"' }, 200],
    [{ 'if-modified-since': date }, 304],
    [{ 'if-modified-since': new Date(0).toUTCString() }, 200],
    [{ 'if-match': etag }, 200],
    [{ 'if-match': '"x"' }, 412],
    [{ 'if-unmodified-since': new Date(0).toUTCString() }, 412],
    [{ range: 'bytes=0-9', 'if-range': etag }, 206],
    [{ range: 'bytes=0-9', 'if-range': '"x"' }, 200],
    [{ range: 'bytes=0-9', 'if-range': date }, 206],
    [{ range: 'bytes=0-9', 'if-range': `W/${etag}` }, 200],
  ] as [Record<string, string>, number][])('%j gives %d', async (headers, status) => {
    const got = await fetchAll(edge.prefixed(url), { headers });
    expect(got.status).toBe(status);
    if (status === 200) expect(got.digest).toBe(sha256(content));
    if (status === 206) expect(got.body.equals(content.subarray(0, 10))).toBe(true);
    if (status === 304) expect(got.body).toHaveLength(0);
  });

  test('no-cache asks the origin only whether the file has changed', async () => {
    const fresh = origin.url('one-hour', { seed: 'no-cache' });
    await fetchAll(edge.prefixed(fresh));
    const before = origin.requests.length;
    const got = await fetchAll(edge.prefixed(fresh), { headers: { 'cache-control': 'no-cache' } });
    expect(got.headers['cache-status']).toBe('test-edge; fwd=stale; fwd-status=304');
    expect(got.digest).toBe(origin.digest(fresh));
    expect(origin.requests.length).toBe(before + 1);
  });

  test('only-if-cached does not ask the origin', async () => {
    const before = origin.requests.length;
    const unknown = origin.url('none', { seed: 'unknown' });
    const got = await fetchAll(edge.prefixed(unknown), {
      headers: { 'cache-control': 'only-if-cached' },
    });
    expect(got.status).toBe(504);
    expect(origin.requests.length).toBe(before);
  });
});

describe('out-of-order delivery', () => {
  const prefer = 'delivery=out-of-order';

  test('sends one part per chunk, each with its position, and all bytes of the file', async () => {
    const cold = origin.url('none', { seed: 'out-of-order' });
    const got = await fetchAll(edge.prefixed(cold), { headers: { range: 'bytes=0-', prefer } });
    expect(got.status).toBe(206);
    expect(got.headers['preference-applied']).toBe(prefer);
    const { data, order } = assemble(got, content.length);
    expect(order).toHaveLength(Math.ceil(content.length / 65_536));
    expect(sha256(data)).toBe(origin.digest(cold));
  });

  test('does not let a slow chunk hold up the chunks behind it', async () => {
    const cold = origin.url('stall-body-once', { seed: 'head-of-line' });
    const got = await fetchAll(edge.prefixed(cold), { headers: { range: 'bytes=0-', prefer } });
    const { data, order } = assemble(got, content.length);
    expect(sha256(data)).toBe(origin.digest(cold));
    expect(order).not.toEqual([...order].sort((a, b) => a - b));
  });

  test('is not applied without a range', async () => {
    const got = await fetchAll(edge.prefixed(url), { headers: { prefer } });
    expect(got.status).toBe(200);
    expect(got.headers['preference-applied']).toBeUndefined();
    expect(got.digest).toBe(sha256(content));
  });
});

describe('tunnels', () => {
  test.each(['no-store', 'private', 'set-cookie', 'vary-cookie', 'no-validators'])(
    '%s: passed through, and Cache-Status says so',
    async (fault) => {
      const got = await fetchAll(edge.prefixed(origin.url(fault)));
      expect(got.digest).toBe(origin.digest(origin.url(fault)));
      expect(got.headers['cache-status']).toMatch(
        /^test-edge; fwd=bypass; fwd-status=200; detail=/,
      );
      expect(got.headers['set-cookie']).toBeUndefined();
    },
  );

  test('a link that works only once is used only once', async () => {
    const once = origin.url('no-ranges', { seed: 'once' });
    const path = once.slice(once.indexOf('/no-ranges'));
    await fetchAll(edge.prefixed(once));
    expect(origin.requests.filter((r) => r.path === path)).toHaveLength(1);
  });
});

describe('a request to the origin', () => {
  test('has no credentials, cookies or other fields of the client', async () => {
    const seen = origin.url('none', { seed: 'credentials' });
    await fetchAll(edge.prefixed(seen), {
      headers: {
        cookie: 'secret=1',
        authorization: 'Bearer secret',
        'proxy-authorization': 'Basic secret',
        'x-forwarded-for': '1.2.3.4',
        referer: 'http://secret/',
      },
    });
    expect(JSON.stringify(origin.requests.at(-1)?.headers)).not.toMatch(/secret|1\.2\.3\.4/);
    expect(origin.requests.at(-1)?.headers['accept-encoding']).toBe('identity');
  });
});
