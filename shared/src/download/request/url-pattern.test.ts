import { describe, expect, test } from '@jest/globals';
import { expandPattern } from './url-pattern.ts';

describe('a pattern of URLs', () => {
  test.each([
    ['http://{a,b}.example/x', ['http://a.example/x', 'http://b.example/x']],
    ['http://h/f[8-11].zip', ['8', '9', '10', '11'].map((n) => `http://h/f${n}.zip`)],
    ['http://h/f[08-10].zip', ['08', '09', '10'].map((n) => `http://h/f${n}.zip`)],
    ['http://h/[a-c]', ['http://h/a', 'http://h/b', 'http://h/c']],
    ['http://h/[0-9:4]', ['http://h/0', 'http://h/4', 'http://h/8']],
    ['http://h/{x,y}/[1-2]', ['x/1', 'x/2', 'y/1', 'y/2'].map((end) => `http://h/${end}`)],
    ['http://h/{a,}.zip', ['http://h/a.zip', 'http://h/.zip']],
  ])('%s', (pattern, urls) => expect(expandPattern(pattern, 100)).toEqual(urls));

  test.each(['http://[::1]:80/x', 'http://h/[abc]', 'http://h/[1-', 'http://h/}{', 'http://h/a-b'])(
    '%s stands for itself',
    (url) => expect(expandPattern(url, 100)).toEqual([url]),
  );

  test.each(['http://h/[5-1]', 'http://h/[a-5]', 'http://h/[a-C]', 'http://h/[1-9:0]'])(
    '%s has no range that ends',
    (pattern) => expect(() => expandPattern(pattern, 100)).toThrow(/is not a range/),
  );

  test('is refused if it stands for too many, before they are made', () => {
    const refused = /more than 64 URLs/;
    expect(() => expandPattern('http://h/[0-999999999]', 64)).toThrow(refused);
    expect(() => expandPattern(`http://h/${'[0-9]'.repeat(40)}`, 64)).toThrow(refused);
    expect(() => expandPattern(`http://h/{${','.repeat(64)}}`, 64)).toThrow(refused);
    expect(expandPattern('http://h/[0-7][0-7]', 64)).toHaveLength(64);
  });
});
