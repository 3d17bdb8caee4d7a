import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import { type OriginKey, OriginKeys } from '../policy/origin-keys.ts';
import { OriginAccess, signS3 } from './origin-access.ts';
import type { OriginRequest } from './origin-client.ts';

const NONE = { public: false, s3: undefined, fields: {}, tls: undefined, fallback: undefined };
const FIRST = 'https://first.example/files';
const signal = new AbortController().signal;

/** Keys of the examples in "Signature Calculations for the Authorization Header" of Amazon's S3. */
const EXAMPLE = {
  region: 'us-east-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};

test.each([
  ['?lifecycle', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
  ['?max-keys=2&prefix=J', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
])('the signature of %s is that of the published example', async (query, signature) => {
  const url = new URL(`https://examplebucket.s3.amazonaws.com/${query}`);
  const at = new Date('2013-05-24T00:00:00Z');
  const { authorization, ...others } = await signS3(EXAMPLE, url, 'GET', at);
  expect(authorization).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
  );
  expect(Object.keys(others).sort()).toEqual(['x-amz-content-sha256', 'x-amz-date']);
});

interface Answered {
  readonly status: number;
  readonly etag?: string;
}

/** An access whose origins answer as told; an answer may be an error's code. */
function access(answers: Readonly<Record<string, Answered | 'origin-timeout'>>, key = {}) {
  const state = { now: 0, asked: [] as string[], told: [] as string[], discarded: 0 };
  const fallback = new URL('https://second.example/copy/');
  const keys = new OriginKeys([{ ...NONE, origin: FIRST, fallback, ...key } as OriginKey]);
  const it = new OriginAccess({
    keys: () => keys,
    now: () => state.now,
    wallClock: () => 0,
    onFallback: (_origin, reason) => state.told.push(reason),
  });
  const send = async ({ url }: OriginRequest) => {
    state.asked.push(url.href);
    const answer = answers[url.host];
    if (answer === undefined || typeof answer === 'string') {
      throw new MillraceError(answer ?? 'origin-unreachable');
    }
    const headers = answer.etag === undefined ? {} : { etag: answer.etag };
    const discard = () => state.discarded++;
    return { status: answer.status, headers, url, discard } as unknown as HttpAnswer;
  };
  const url = new URL(`${FIRST}/a%20b.iso?x=1`);
  const request: OriginRequest = { url, scope: 'public', signal };
  return { state, keys, it, get: () => it.send(request, send) };
}

describe('a second origin', () => {
  const GOOD = { status: 206, etag: '"1"' };

  test.each([
    ['cannot be reached', undefined, 'origin-unreachable'],
    ['does not answer', 'origin-timeout' as const, 'origin-timeout'],
    ['answers 503', { status: 503 }, 'origin-error'],
  ])('is asked when the first %s, for the same path, and answers for it', async (_, first, why) => {
    const { state, get } = access({
      ...(first === undefined ? {} : { 'first.example': first }),
      'second.example': GOOD,
    });
    const answer = await get();
    expect([answer.status, answer.url.href]).toEqual([206, `${FIRST}/a%20b.iso?x=1`]);
    expect(state.asked[1]).toBe('https://second.example/copy/a%20b.iso?x=1');
    expect(state.told).toEqual([why]);
    // The first one is left alone for a while.
    await get();
    expect(state.asked).toHaveLength(3);
    state.now = 10_000;
    await get();
    expect(state.asked.slice(3)).toHaveLength(2);
  });

  test('is not asked while the first one answers, whatever it says', async () => {
    for (const status of [206, 304, 404, 416, 501]) {
      const { state, get } = access({ 'first.example': { status }, 'second.example': GOOD });
      expect((await get()).status).toBe(status);
      expect(state.asked).toHaveLength(1);
    }
  });

  test('without a strong entity tag is not believed, and the first one is asked again', async () => {
    for (const etag of [undefined, 'W/"1"']) {
      const second = { status: 206, ...(etag === undefined ? {} : { etag }) };
      const { state, get } = access({ 'second.example': second });
      await expect(get()).rejects.toMatchObject({ code: 'origin-unreachable' });
      expect(state.discarded).toBe(1);
      await expect(get()).rejects.toMatchObject({ code: 'origin-unreachable' });
      expect(state.asked).toHaveLength(4);
    }
  });
});

describe('fields for an origin', () => {
  test('go to its URLs alone, and S3 signs each', async () => {
    const field = { fields: { authorization: 'Bearer x' } };
    const { it } = access({}, field);
    expect(await it.fields(new URL(`${FIRST}/a`), 'GET')).toEqual(field.fields);
    for (const other of [
      'https://first.example/other',
      'https://first.example/filesystem',
      'http://first.example/files/a',
      'https://first.example:444/files/a',
      'https://second.example/copy/a',
      'https://first.example/files/%2e%2e/other',
    ])
      expect([other, await it.fields(new URL(other), 'GET')]).toEqual([other, {}]);
    const s3 = access({}, { s3: { ...EXAMPLE, sessionToken: 'session' } });
    const signed = await s3.it.fields(new URL(`${FIRST}/a`), 'HEAD');
    expect(signed).toMatchObject({ 'x-amz-security-token': 'session' });
    expect(JSON.stringify(signed)).not.toContain(EXAMPLE.secretAccessKey);
  });
});
