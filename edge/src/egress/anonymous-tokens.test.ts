import { describe, expect, test } from '@jest/globals';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { AnonymousTokens } from './anonymous-tokens.ts';

const REALM = 'https://auth.example/token';
const BLOB = new URL('https://registry.example/v2/mill/wheel/blobs/sha256:00');
const challenge = (realm = REALM) => ({
  'www-authenticate': `Bearer realm="${realm}",service="registry.example",scope="repository:mill/wheel:pull"`,
});

/** Gets a token for the blob. @returns whether there was one, the field of later requests, and what was asked */
async function got(
  headers: Record<string, string>,
  text: string,
  { status = 200, after = 0 } = {},
) {
  let now = 0;
  const tokens = new AnonymousTokens(() => now);
  const asked: string[] = [];
  const open = async (url: URL) => {
    asked.push(url.href);
    const pipe = async (write: (piece: Buffer) => boolean) => void write(Buffer.from(text));
    return { status, pipe, discard: () => {} } as unknown as HttpResponse;
  };
  const found = await tokens.get(BLOB, headers, REALM, open);
  now += after;
  return { found, asked, tokens, field: tokens.fieldsFor(BLOB).authorization };
}

describe('a token for everybody', () => {
  test('is asked for with the service and scope of the challenge, and serves the whole image', async () => {
    const { found, asked, tokens, field } = await got(
      challenge(),
      '{"token":"abc","expires_in":300}',
    );
    expect([found, field]).toEqual([true, 'Bearer abc']);
    expect(asked).toEqual([
      `${REALM}?service=registry.example&scope=repository%3Amill%2Fwheel%3Apull`,
    ]);
    const at = (url: string) => tokens.fieldsFor(new URL(url)).authorization;
    expect(at('https://registry.example/v2/mill/wheel/manifests/v1')).toBe('Bearer abc');
    for (const other of [
      'https://registry.example/v2/mill/other/blobs/sha256:00',
      'https://cdn.example/v2/mill/wheel/blobs/sha256:00',
      'http://registry.example/v2/mill/wheel/blobs/sha256:00',
    ])
      expect(at(other)).toBeUndefined();
  });

  test('is not used when it is about to end', async () => {
    const text = '{"access_token":"abc","expires_in":300}';
    expect((await got(challenge(), text, { after: 289_999 })).field).toBe('Bearer abc');
    expect((await got(challenge(), text, { after: 290_000 })).field).toBeUndefined();
    expect((await got(challenge(), '{"token":"abc"}', { after: 50_000 })).field).toBeUndefined();
  });

  test.each([
    ['another server', challenge('https://evil.example/token')],
    ['the server with another path', challenge(`${REALM}/x`)],
    ['Basic', { 'www-authenticate': 'Basic realm="https://auth.example/token"' }],
    ['nothing', {}],
  ])('is not asked for if the challenge names %s', async (_, headers) => {
    const { found, asked } = await got(headers, '{"token":"abc"}');
    expect([found, asked]).toEqual([false, []]);
  });

  test.each([
    ['no JSON', 'token'],
    ['null', 'null'],
    ['no token', '{"expires_in":5}'],
    ['a token with a line break', '{"token":"a\\r\\nx: y"}'],
    ['a token that is too long', JSON.stringify({ token: 'a'.repeat(8193) })],
    ['an answer that is too long', JSON.stringify({ token: 'a', x: 'a'.repeat(65_536) })],
  ])('is not taken from %s', async (_, text) => {
    expect(await got(challenge(), text)).toMatchObject({ found: false, field: undefined });
  });

  test('is not there if the server refuses', async () => {
    expect((await got(challenge(), '{"token":"abc"}', { status: 401 })).found).toBe(false);
  });
});
