import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyPath } from '../../../testing/draws/any-text.ts';
import { MAX_CHUNK_NAME_CHARS, MAX_URL_CHARS } from '../../base/limits.ts';
import { type ChunkName, formatChunkName, onwardSalt, parseChunkName } from './chunk-name.ts';

const NAME: ChunkName = {
  url: 'http://www.example.com/file.iso',
  range: { start: 20000, end: 30000 },
  salt: '',
  tag: undefined,
};

const tricky = fc.constantFrom(',', ',start=1,end=2', ',v=e.x', ',start=', '=', '?', '/', '%2C');
const url = fc
  .array(fc.oneof(tricky, fc.stringMatching(/^[a-z0-9]{1,6}$/), anyPath()))
  .map((pieces) => `https://example.com/${pieces.join('')}`);
const chunkName: fc.Arbitrary<ChunkName> = fc.record({
  url,
  range: fc
    .tuple(fc.maxSafeNat(), fc.integer({ min: 1 }))
    .filter(([start, bytes]) => start + bytes <= Number.MAX_SAFE_INTEGER)
    .map(([start, bytes]) => ({ start, end: start + bytes })),
  salt: fc.stringMatching(/^[a-z]{0,10}$/),
  tag: fc.option(fc.stringMatching(/^[emd]\.[A-Za-z0-9._~%-]{1,20}$/), { nil: undefined }),
});

describe('chunk names', () => {
  test.each<[Partial<ChunkName>, string]>([
    [{}, 'http://www.example.com/file.iso,start=20000,end=29999'],
    [{ salt: 'ab' }, 'http://www.example.com/file.iso,start=20000ab,end=29999'],
    [{ tag: 'e.abc' }, 'http://www.example.com/file.iso,start=20000,end=29999,v=e.abc'],
    [
      { url: 'http://x/?q=1,start=1,end=2', salt: 'a', tag: 'm.1.2' },
      'http://x/?q=1,start=1,end=2,start=20000a,end=29999,v=m.1.2',
    ],
  ])('with %j: %s', (part, text) => {
    const name = { ...NAME, ...part };
    expect(formatChunkName(name)).toBe(text);
    expect(parseChunkName(text)).toEqual(name);
  });

  test('a written name is read as the same chunk, whatever is in the URL', () => {
    fc.assert(
      fc.property(chunkName, (name) => {
        expect(parseChunkName(formatChunkName(name))).toEqual(name);
      }),
    );
  });

  test('two chunks never share a name', () => {
    fc.assert(
      fc.property(chunkName, chunkName, (a, b) => {
        const same = formatChunkName(a) === formatChunkName(b);
        expect(same).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  test.each([
    '',
    'http://x/',
    ',start=0,end=9',
    'http://x/,start=0',
    'http://x/,end=9',
    'http://x/,start=0,end=',
    'http://x/,start=,end=9',
    'http://x/,start=-1,end=9',
    'http://x/,start=0.5,end=9',
    'http://x/,start=0x1,end=9',
    'http://x/,start=10,end=8',
    'http://x/,start=0A,end=9',
    'http://x/,start=0abcdefghijk,end=9',
    'http://x/,start=0,end=9a',
    'http://x/,start=0,end=9,',
    'http://x/,start=0,end=9,v=',
    'http://x/,start=0,end=9,v=abc',
    'http://x/,start=0,end=9,v=e.a,b',
    'http://x/,start=0,end=9,v=e.a b',
    'http://x/,start=0,end=9,v=e.a\n',
    'http://x/,start=0,end=9,x=1',
    'http://x/,start=0,end=9 ',
    'http://x/,Start=0,End=9',
    'http://x/,start=9007199254740991,end=9007199254740991',
    'http://x/,start=0,end=99999999999999999',
  ])('%j is not a chunk name', (text) => {
    expect(parseChunkName(text)).toBeUndefined();
  });

  test('the last and longest chunk that can be counted has a name', () => {
    const range = { start: Number.MAX_SAFE_INTEGER - 1, end: Number.MAX_SAFE_INTEGER };
    const text = formatChunkName({ ...NAME, range });
    expect(parseChunkName(text)?.range).toEqual(range);
  });

  test('every URL short enough to be fetched makes a name, and a longer one does not', () => {
    const range = { start: 2 ** 52, end: 2 ** 52 + 1 };
    const longest = { ...NAME, range, url: `http://x/${'y'.repeat(MAX_URL_CHARS - 9)}` };
    expect(parseChunkName(formatChunkName({ ...longest, salt: 'abcdefghij' }))).toBeDefined();
    const tooLong = { ...longest, url: 'y'.repeat(MAX_CHUNK_NAME_CHARS) };
    expect(parseChunkName(formatChunkName(tooLong))).toBeUndefined();
  });

  test('any text is refused, or is the name of a possible chunk', () => {
    const alike = fc.stringMatching(
      /^h,start=\d{1,18}[a-z]{0,3},end=\d{1,18}(,v=e\.[a-z,]{0,3})?$/,
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), alike), (text) => {
        const name = parseChunkName(text);
        if (name === undefined) return;
        expect(name.range.start).toBeLessThan(name.range.end);
        expect(Number.isSafeInteger(name.range.end)).toBe(true);
        expect(parseChunkName(formatChunkName(name))).toEqual(name);
      }),
    );
  });
});

describe('the salt of a request that is sent on', () => {
  test('keeps the letters of earlier nodes, so that it does not return to the node that was late', () => {
    expect([0, 1, 2, 3].map((attempt) => onwardSalt('', attempt))).toEqual(['', '', 'a', 'b']);
    expect([0, 1, 2, 3].map((attempt) => onwardSalt('a', attempt))).toEqual(['a', 'a', 'aa', 'ab']);
  });

  test('stays readable for nodes of every version, however many nodes have retried', () => {
    let salt = '';
    for (let hop = 0; hop < 16; hop++) {
      salt = onwardSalt(salt, 2 + hop);
      const name = { url: 'https://example.com/f', range: { start: 0, end: 10 }, salt, tag: 'e.1' };
      expect(parseChunkName(formatChunkName(name))).toEqual(name);
    }
  });
});
