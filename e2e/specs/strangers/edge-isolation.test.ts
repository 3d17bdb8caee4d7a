/** Every answer to a prefixed URL is isolated, and passes on no link to an edge that is not one. */

import { describe, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import { H2Client } from '../../fixtures/clients/h2-client.ts';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import {
  DISK_IMAGE,
  NAME,
  OPTIONS,
  SECRET,
  StrangersStage,
  WEAKENING,
} from '../../fixtures/stages/strangers-stage.ts';

const stage = new StrangersStage();

describe('every answer to a prefixed URL keeps browsers from treating it as a page of the edge', () => {
  const image = (path = '/image.iso') => stage.origin.url(path);
  const expectIsolated = ({ status, headers }: Fetched, expected: number) => {
    const { 'content-security-policy': policy, 'x-content-type-options': sniffing } = headers;
    expect({ status, policy, sniffing }).toEqual({
      status: expected,
      policy: 'sandbox allow-downloads',
      sniffing: 'nosniff',
    });
    expect(headers['service-worker-allowed']).toBeUndefined();
    // The origin lets pages of other sites read its files. Of errors it says nothing.
    for (const name of ['access-control-allow-origin', 'cross-origin-resource-policy'] as const) {
      expect(headers[name]).toBe(expected < 400 ? WEAKENING[name] : undefined);
    }
    expect(headers['content-security-policy-report-only']).toBeUndefined();
  };
  const signed = () => {
    const permit = signLink(new URL(image()), 4e9, false, SECRET);
    return `-/signed/${permit}/${image()}`;
  };
  const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetchAll(stage.edge.prefixed(url), { headers, method });

  test.each<[string, number, () => Promise<Fetched>]>([
    ['a whole file', 200, () => get(image())],
    ['a header alone', 200, () => get(image(), {}, 'HEAD')],
    ['a range', 206, () => get(image(), { range: 'bytes=5-9' })],
    ['several ranges', 206, () => get(image(), { range: 'bytes=5-9,20-30' })],
    [
      'ranges out of order',
      206,
      () => get(image(), { range: 'bytes=0-', prefer: 'delivery=out-of-order' }),
    ],
    ['a range beyond the end', 416, () => get(image(), { range: 'bytes=999999999-' })],
    ['a condition that fails', 412, () => get(image(), { 'if-match': '"other"' })],
    ['an origin that knows no ranges', 200, () => get(image('/tunnel.iso'))],
    ['an origin that forbids caches', 200, () => get(image('/private.iso'))],
    ['a file that is not there', 404, () => get(image('/none'))],
    ['an origin that is not served', 403, () => get('http://localhost/x')],
    ['a target that is not a URL', 400, () => get('http://user:word@127.0.0.1/x')],
    ['a method that is not taken', 405, () => get(image(), {}, 'PUT')],
    ['a method nobody knows', 405, () => get(image(), {}, 'PROPFIND')],
    ['a loop', 508, () => get(image(), { via: `1.1 ${NAME}` })],
    ['a request like a node’s from a client', 403, () => get(image(), { 'x-bigfile': '1' })],
    ['a signed link', 200, () => get(signed())],
    ['a signed link that is wrong', 403, () => get(signed().replace(/.iso$/, '.is'))],
  ])('%s: %d', async (_, status, fetched) => expectIsolated(await fetched(), status));

  test('a cached copy that is still valid: 304', async () => {
    const { etag } = (await get(image())).headers;
    expectIsolated(await get(image(), { 'if-none-match': String(etag) }), 304);
  });

  test('over HTTP/2', async () => {
    const client = await H2Client.connect(stage.edge.secureUrl, stage.cert);
    try {
      expectIsolated(await client.fetch(`/${image()}`), 200);
      expectIsolated(await client.fetch(`/${image('/tunnel.iso')}`), 200);
      expectIsolated(await client.fetch(`/${image('/none')}`), 404);
    } finally {
      await client.close();
    }
  });
});

describe('a preflight', () => {
  const ask = (path: string, method = 'GET') => {
    const headers = { origin: 'https://a.example', 'access-control-request-method': method };
    const all = { ...headers, 'access-control-request-headers': 'range,if-none-match' };
    return fetchAll(stage.edge.prefixed(stage.origin.url(path)), {
      method: 'OPTIONS',
      headers: all,
    });
  };
  const allowed = ({ status, headers }: Fetched) => [
    status,
    headers['access-control-allow-origin'],
    headers['access-control-allow-methods'],
  ];

  test('is allowed where the origin allows, of files in chunks and of others, known or not', async () => {
    const headers = { 'access-control-allow-origin': 'https://a.example' };
    stage.origin.add('/asked.iso', { body: DISK_IMAGE, headers });
    stage.origin.add('/asked-whole.iso', { body: DISK_IMAGE, headers, noRanges: true });
    for (const path of ['/asked.iso', '/asked.iso', '/asked-whole.iso', '/asked-whole.iso']) {
      const got = await ask(path);
      expect(allowed(got)).toEqual([204, 'https://a.example', 'GET, HEAD']);
      expect(got.headers['access-control-allow-headers']).toMatch(/\brange, if-range\b/);
    }
  });

  test('is allowed nothing where the origin allows nothing, or of another method', async () => {
    const headers = { 'access-control-allow-origin': 'https://a.example', vary: 'Origin' };
    stage.origin.add('/silent.iso', { body: DISK_IMAGE });
    stage.origin.add('/varying.iso', { body: DISK_IMAGE, headers });
    for (const path of ['/silent.iso', '/varying.iso']) {
      expect(allowed(await ask(path))).toEqual([204, undefined, undefined]);
    }
    expect(allowed(await ask('/image.iso', 'PUT'))).toEqual([204, undefined, undefined]);
    expect(allowed(await ask('/none'))).toEqual([404, undefined, undefined]);
  });
});

describe('links that an origin sends', () => {
  const link = [
    '<https://edge.evil.example/>; rel="https://millrace.dev/rel/edge"',
    '</mirror.iso>; rel="duplicate HTTPS://millrace.dev/rel/edge"; pri=1',
    '</-/dashboard>; rel=preload; as=script',
  ].join(', ');
  const rebuilt = () => `<${stage.origin.url('/mirror.iso')}>; rel="duplicate"; pri="1"`;

  test.each<[string, object, Record<string, string>, number]>([
    ['a file in chunks', {}, {}, 200],
    ['a range', {}, { range: 'bytes=5-9' }, 206],
    ['several ranges', {}, { range: 'bytes=5-9,20-30' }, 206],
    ['ranges out of order', {}, { range: 'bytes=0-', prefer: 'delivery=out-of-order' }, 206],
    ['a tunnel', { noRanges: true }, {}, 200],
    ['a tunnelled range', { etag: null }, { range: 'bytes=0-' }, 206],
  ])(
    'name mirrors by their absolute address, and no edges: %s',
    async (name, how, headers, status) => {
      const url = stage.origin.add(`/linked-${encodeURIComponent(name)}`, {
        body: DISK_IMAGE,
        headers: { link },
        ...how,
      });
      // First from the origin, then from the cache if the edge has kept the file.
      for (let i = 0; i < 2; i++) {
        const got = await fetchAll(stage.edge.prefixed(url), { headers });
        expect([got.status, got.headers.link]).toEqual([status, rebuilt()]);
      }
    },
  );
});

describe('a redirect to TLS', () => {
  test('is isolated like the answer it leads to', async () => {
    const redirecting = await EdgeProcess.start([
      ...['--tls-cert', stage.cert, '--tls-key', stage.key, '--http-port', '0'],
      ...['--http-answers', 'redirect', ...OPTIONS],
    ]);
    try {
      const { status, headers } = await fetchAll(
        redirecting.prefixed(stage.origin.url('/image.iso')),
      );
      expect([status, headers['content-security-policy']]).toEqual([
        308,
        'sandbox allow-downloads',
      ]);
    } finally {
      await redirecting.stop('SIGKILL');
    }
  });
});
