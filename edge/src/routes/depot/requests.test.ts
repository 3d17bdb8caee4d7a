import { describe, expect, test } from '@jest/globals';
import { readPull } from './requests.ts';

const PART = { from: ['http://a.test/f'], start: 0, bytes: 10 };
const one = (change: object) => ({ parts: [{ ...PART, ...change }] });

describe('a pull', () => {
  test('is read, with its URLs in their one form', () => {
    const part = { from: ['HTTP://A.test:80/./f?x'], etag: '"a-1"', start: 5, bytes: 1 };
    expect(readPull(JSON.stringify({ parts: [part, PART], sha256: 'a'.repeat(64) }))).toEqual({
      parts: [{ ...part, from: ['http://a.test/f?x'] }, PART],
      sha256: 'a'.repeat(64),
    });
  });

  test.each<[what: string, value: unknown, words: RegExp]>([
    ['without parts', { parts: [] }, /^parts: must name a part/],
    ['with too many parts', { parts: Array(1025).fill(PART) }, /^parts: /],
    ['with a member that nobody knows', { parts: [PART], headers: {} }, /headers/],
    ['with a field for a source', one({ headers: {} }), /^parts\.0: .*headers/],
    ['without a URL', one({ from: [] }), /^parts\.0\.from: must name a URL/],
    ['with too many URLs', one({ from: Array(17).fill('http://a.test/') }), /^parts\.0\.from: /],
    ['of a file of this machine', one({ from: ['file:///etc/passwd'] }), /only http and https/],
    ['with a log-in', one({ from: ['http://me:pass@a.test/'] }), /^parts\.0\.from\.0: /],
    ['with half a URL', one({ from: ['/f'] }), /^parts\.0\.from\.0: .*cannot be parsed/],
    ['with a URL that is too long', one({ from: [`http://a/${'x'.repeat(9000)}`] }), /from\.0/],
    ['with a weak tag', one({ etag: 'W/"1"' }), /^parts\.0\.etag: must be a strong/],
    ['with a tag that hides a field', one({ etag: '"1"\r\nx: y' }), /^parts\.0\.etag: /],
    ['of no bytes', one({ bytes: 0 }), /^parts\.0\.bytes: must be at least 1/],
    ['with a place before the file', one({ start: -1 }), /^parts\.0\.start: /],
    ['behind all numbers', one({ start: Number.MAX_SAFE_INTEGER }), /^parts\.0: ends too far/],
    [
      'of more bytes than can be counted',
      { parts: Array(2).fill({ ...PART, bytes: Number.MAX_SAFE_INTEGER }) },
      /^parts: are too long together/,
    ],
    ['with half a digest', { parts: [PART], sha256: 'ab' }, /^sha256: must have 64/],
    ['that is a list', [], /^the body: /],
  ])('%s is refused', (_, value, words) => {
    expect(() => readPull(JSON.stringify(value))).toThrow(
      expect.objectContaining({ code: 'bad-request', detail: expect.stringMatching(words) }),
    );
  });

  test('in damaged JSON is refused', () => {
    expect(() => readPull('{')).toThrow(expect.objectContaining({ code: 'bad-request' }));
  });
});
