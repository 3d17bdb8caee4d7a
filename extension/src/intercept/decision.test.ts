import { describe, expect, test } from '@jest/globals';
import { DEFAULT_SETTINGS, type Settings } from '../contract/settings.ts';
import { type BegunDownload, decide } from './decision.ts';
import type { SeenRequest } from './request-log.ts';

const NOW = 1_000_000;
const URL_ = 'https://dl.example.com/pub/disk.iso';
const LENGTH = 64 * 1024 * 1024;
const DATE = 'Sat, 21 Nov 2026 10:00:00 GMT';

const download = (changes: Partial<BegunDownload> = {}): BegunDownload => ({
  url: URL_,
  finalUrl: URL_,
  fileName: 'disk.iso',
  length: LENGTH,
  begunAt: NOW - 100,
  running: true,
  private: false,
  byExtension: false,
  dangerous: false,
  ...changes,
});

const answer = (headers: Record<string, string>, status = 200) => ({
  answer: { status, headers: { 'content-length': String(LENGTH), ...headers } },
});

const request = (changes: Partial<SeenRequest> = {}): SeenRequest => ({
  id: '1',
  hops: [{ url: URL_, method: 'GET', headers: { cookie: 'a=b' } }],
  at: NOW,
  ...answer({ etag: '"x"', 'last-modified': DATE, 'content-type': 'application/x-iso' }),
  ...changes,
});

const decided = (
  begun: BegunDownload,
  seen: SeenRequest | undefined,
  settings: Partial<Settings> = {},
  skipped = false,
  continues: (fileName: string, length: number) => boolean = () => false,
) => {
  const all = { ...DEFAULT_SETTINGS, ...settings };
  return decide(begun, seen, { now: NOW, skipped, settings: all, continues });
};
const left = (why: string) => ({ take: false, why });

describe('a download is taken', () => {
  test('with everything that is needed to fetch it again', () => {
    expect(decided(download(), request())).toEqual({
      take: true,
      hops: request().hops,
      answer: request().answer,
      draft: {
        url: URL_,
        finalUrl: URL_,
        fileName: 'disk.iso',
        length: LENGTH,
        etag: '"x"',
        lastModified: DATE,
        contentType: 'application/x-iso',
        headers: { cookie: 'a=b' },
      },
    });
  });

  test('from its first URL, with the fields that were sent there', () => {
    const first = 'https://example.com/get?file=disk';
    const hops = [
      { url: `${first}#top`, method: 'GET', headers: { cookie: 'first=1' } },
      { url: URL_, method: 'GET', headers: { cookie: 'last=1' } },
    ];
    expect(decided(download({ url: first }), request({ hops }))).toMatchObject({
      draft: { url: first, finalUrl: URL_, headers: { cookie: 'first=1' } },
    });
  });

  test('after a POST from the URL to which the POST led', () => {
    const hops = [
      { url: 'https://example.com/form', method: 'POST' },
      { url: 'https://example.com/ready', method: 'GET' },
      { url: URL_, method: 'GET' },
    ];
    expect(decided(download({ url: 'https://example.com/form' }), request({ hops }))).toMatchObject(
      {
        draft: { url: 'https://example.com/ready', finalUrl: URL_, headers: {} },
      },
    );
  });

  test.each([
    ['a strong entity tag alone', { etag: '"x"' }],
    ['a date alone', { 'last-modified': DATE }],
    ['a weak entity tag with a date', { etag: 'W/"x"', 'last-modified': DATE }],
    ['the identity encoding', { etag: '"x"', 'content-encoding': 'identity' }],
  ])('with %s', (_, headers) => {
    expect(decided(download(), request(answer(headers)))).toMatchObject({ take: true });
  });

  test('with the length of the answer if the browser has not told one yet', () => {
    const decision = decided(download({ length: undefined }), request());
    expect(decision).toMatchObject({ take: true, draft: { length: LENGTH } });
  });

  test('from the smallest size that the user has chosen', () => {
    const seen = request(answer({ etag: '"x"', 'content-length': '1000' }));
    const small = download({ length: 1000 });
    expect(decided(small, seen, { minBytes: 1000 })).toMatchObject({ take: true });
    expect(decided(small, seen, { minBytes: 1001 })).toEqual(left('small'));
    expect(decided(small, seen, { alwaysTypes: ['iso'] })).toMatchObject({ take: true });
  });

  test('however small it is, if it may continue an earlier one, and then for nothing else', () => {
    const seen = (length: string) => request(answer({ etag: '"x"', 'content-length': length }));
    const asked: unknown[] = [];
    const continues = (...about: unknown[]) => asked.push(about) > 0;
    const small = decided(download({ length: 1000 }), seen('1000'), {}, false, continues);
    expect(small).toMatchObject({ take: true, draft: { length: 1000, onlyRenews: true } });
    expect(asked).toEqual([['disk.iso', 1000]]);
    const empty = download({ length: undefined });
    expect(decided(empty, seen('0'), {}, false, continues)).toEqual(left('small'));
    const large = decided(download(), request(), {}, false, continues);
    expect(large).toMatchObject({ take: true });
    expect(large).not.toHaveProperty('draft.onlyRenews');
  });
});

describe('a download is left alone', () => {
  test.each([
    ['off', download(), { on: false }],
    ['scheme', download({ finalUrl: `blob:${URL_}`, url: `blob:${URL_}` }), {}],
    ['scheme', download({ finalUrl: 'data:text/plain,x', url: 'data:text/plain,x' }), {}],
    ['scheme', download({ finalUrl: 'file:///tmp/x', url: 'file:///tmp/x' }), {}],
    ['private', download({ private: true }), {}],
    ['extension', download({ byExtension: true }), {}],
    ['not-new', download({ begunAt: NOW - 60_000 }), {}],
    ['not-new', download({ running: false }), {}],
    ['dangerous', download({ dangerous: true }), {}],
    ['host', download(), { offHosts: ['example.com'] }],
    ['host', download({ url: 'https://sub.Other.example/' }), { offHosts: ['Other.example'] }],
    ['host', download(), { onlyHosts: ['other.example'] }],
    ['type', download({ fileName: 'a.ISO' }), { neverTypes: ['iso'] }],
    ['length', download({ length: LENGTH - 1 }), {}],
  ])('%s', (why, begun, settings) => {
    expect(decided(begun, request(), settings)).toEqual(left(why));
  });

  test.each([
    ['unseen', undefined],
    ['unseen', request({ answer: undefined })],
    ['method', request({ hops: [{ url: URL_, method: 'POST' }] })],
    ['status', request(answer({ etag: '"x"' }, 206))],
    ['encoded', request(answer({ etag: '"x"', 'content-encoding': 'gzip' }))],
    ['length', request({ answer: { status: 200, headers: { etag: '"x"' } } })],
    ['length', request(answer({ etag: '"x"', 'content-length': `${LENGTH}, 5` }))],
    ['unproven', request(answer({}))],
    ['unproven', request(answer({ etag: 'W/"x"' }))],
    ['unproven', request(answer({ etag: 'x', 'last-modified': 'yesterday' }))],
    ['one-time', request({ hops: [{ url: `${URL_}?otp=1`, method: 'GET' }] })],
  ])('%s: %j', (why, seen) => {
    expect(decided(download(), seen)).toEqual(left(why));
  });

  test('if the user skips it', () => {
    expect(decided(download(), request(), {}, true)).toEqual(left('skipped'));
  });

  test('but not if its host merely ends in the letters of a listed host', () => {
    expect(decided(download(), request(), { offHosts: ['ample.com'] })).toMatchObject({
      take: true,
    });
    const settings = { onlyHosts: ['example.com'] };
    expect(decided(download(), request(), settings)).toMatchObject({ take: true });
  });
});
