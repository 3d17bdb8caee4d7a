import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isMillraceError } from '../../base/errors.ts';
import { parseNativeMessage, parseNativeResult } from './native-answer.ts';
import type { NativeOffer } from './native-api.ts';
import { nativeIdOf, parseNativeRequest } from './native-request.ts';

const HAND_OFF = '6f1c2c1e-7a52-4f0e-9a42-0d4d0e1b2c3d';
const OFFER: NativeOffer = {
  handOff: HAND_OFF,
  url: 'https://example.com/a.iso',
  finalUrl: 'https://cdn.example.com/a.iso?token=1',
  fileName: 'a.iso',
  length: 64 * 1024 * 1024,
  etag: '"abc"',
  lastModified: undefined,
  contentType: 'application/octet-stream',
  headers: { Cookie: 'a=b; c=d', 'User-Agent': 'Mozilla/5.0' },
  edges: ['http://127.0.0.1:3125/'],
};
const GID = '0123456789abcdef';

describe('requests', () => {
  test.each([
    { type: 'hello', version: 1, browser: 'firefox' },
    { type: 'offer', ...OFFER },
    { type: 'offer', ...OFFER, path: '/home/ada/Pictures/a.iso' },
    { type: 'offer', ...OFFER, etag: undefined, lastModified: 'Sat, 21 Nov 2026 20:00:00 GMT' },
    { type: 'commit', handOff: HAND_OFF },
    { type: 'withdraw', handOff: HAND_OFF },
    { type: 'discard', gid: GID },
    { type: 'offerState', handOff: HAND_OFF },
    { type: 'list', limit: 500 },
    { type: 'watch', on: true },
    { type: 'command', gid: GID, command: 'pause' },
    { type: 'add', links: [{ url: OFFER.url, headers: {}, edges: [] }] },
    { type: 'openApp' },
  ])('$type survives JSON unchanged', (params) => {
    const request = { id: 7, ...params };
    expect(parseNativeRequest(JSON.parse(JSON.stringify(request)))).toEqual(request);
  });

  test.each([
    ['no object', []],
    ['no id', { type: 'openApp' }],
    ['an id that is reserved for unreadable requests', { id: 0, type: 'openApp' }],
    ['an unknown type', { id: 1, type: 'toString' }],
    ['a hand-off that is not a UUID', { id: 1, type: 'commit', handOff: '../../etc' }],
    ['a path in place of a name', { id: 1, type: 'offer', ...OFFER, fileName: '../a' }],
    ['a path with NUL in it', { id: 1, type: 'offer', ...OFFER, path: '/home/a\0b' }],
    ['no validator', { id: 1, type: 'offer', ...OFFER, etag: undefined }],
    ['no length', { id: 1, type: 'offer', ...OFFER, length: 0 }],
    ['a file: URL', { id: 1, type: 'offer', ...OFFER, url: 'file:///etc/passwd' }],
    [
      'a URL that is too long',
      { id: 1, type: 'offer', ...OFFER, url: `http://a/${'x'.repeat(9e3)}` },
    ],
    [
      'a field with a line break',
      { id: 1, type: 'offer', ...OFFER, headers: { Cookie: 'a\r\nb: c' } },
    ],
    ['a field name with a colon', { id: 1, type: 'offer', ...OFFER, headers: { 'a:b': 'c' } }],
    ['too many edges', { id: 1, type: 'offer', ...OFFER, edges: Array(17).fill('http://e/') }],
    ['a list of too many downloads', { id: 1, type: 'list', limit: 501 }],
    ['an unknown command', { id: 1, type: 'command', gid: GID, command: 'run' }],
    ['a download by a part of its id', { id: 1, type: 'command', gid: '01', command: 'open' }],
  ])('%s is refused', (_, message) => {
    expect(() => parseNativeRequest(message)).toThrow(
      expect.objectContaining({ code: 'bad-option' }),
    );
  });

  test('secret values are in no error', () => {
    const headers = { Cookie: 'secret\n' };
    expect(() => parseNativeRequest({ id: 1, type: 'offer', ...OFFER, headers })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });

  test('any value is a request or a typed error, and gives an id for the answer', () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom('offer', 'add', 'command'), (value, type) => {
        for (const message of [value, { ...Object(value), id: 1, type }]) {
          expect(Number.isSafeInteger(nativeIdOf(message))).toBe(true);
          try {
            expect(parseNativeRequest(message).id).toBe(nativeIdOf(message));
          } catch (error) {
            expect(isMillraceError(error, 'bad-option')).toBe(true);
          }
        }
      }),
    );
  });
});

describe('answers', () => {
  const download = {
    gid: GID,
    name: 'a.iso',
    status: 'error',
    length: 5,
    storedBytes: 3,
    bytesPerSecond: 0,
    createdAt: 1,
    error: { code: 'origin-denied', message: 'no' },
  };

  test('are read unchanged', () => {
    expect(parseNativeResult('list', { downloads: [download] })).toEqual({ downloads: [download] });
    expect(parseNativeResult('offerState', { state: 'committed', gid: GID })).toEqual({
      state: 'committed',
      gid: GID,
    });
    expect(parseNativeResult('add', { gids: [GID, null] })).toEqual({ gids: [GID, null] });
  });

  test('of another form are errors', () => {
    const malformed = expect.objectContaining({ code: 'malformed-response' });
    expect(() => parseNativeResult('commit', {})).toThrow(malformed);
    expect(() => parseNativeResult('commit', null)).toThrow(malformed);
    expect(() => parseNativeResult('offerState', { state: 'committed' })).toThrow(malformed);
    const wrong = { downloads: [{ ...download, status: 'exploded' }] };
    expect(() => parseNativeResult('list', wrong)).toThrow(malformed);
  });

  test('and events are told apart from anything else', () => {
    expect(parseNativeMessage({ id: 3, result: {} })).toEqual({ id: 3, result: {} });
    expect(parseNativeMessage({ event: 'ended' })).toEqual({ event: 'ended' });
    expect(parseNativeMessage({ id: 3, error: { code: 'internal' } })).toEqual({
      id: 3,
      error: { code: 'internal', message: '', detail: '' },
    });
    for (const other of [null, [], 'x', { id: 'x', result: {} }, { event: 'later' }, { id: 1 }]) {
      expect(parseNativeMessage(other)).toBeUndefined();
    }
  });
});

test('an error whose code is an object with a toString of its own is read as one without a code', () => {
  expect(parseNativeMessage({ id: 1, error: { code: { toString: null }, message: 'm' } })).toEqual({
    id: 1,
    error: { code: '', message: 'm', detail: '' },
  });
});
