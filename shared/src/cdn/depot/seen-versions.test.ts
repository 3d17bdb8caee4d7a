import { expect, test } from '@jest/globals';
import { MAX_SEEN, SeenVersions } from './seen-versions.ts';

const shown = (of: string, from: number, etag = '"1"') => ({ of, from, validators: { etag } });

test('the header of an answer vouches for the bytes that were there when it was asked for', () => {
  const seen = new SeenVersions();
  seen.shown(shown('a', 10));
  expect(seen.get('a')).toMatchObject({ since: 10, from: 10 });
  seen.shown({ ...shown('a', 50), length: 100 });
  expect(seen.get('a')).toEqual({ ...shown('a', 50), length: 100, since: 10 });
  expect(seen.get('b')).toBeUndefined();
});

test('versions are forgotten with the last of their bytes', () => {
  const seen = new SeenVersions();
  for (const [of, from] of [
    ['a', 0],
    ['b', 20],
    ['a', 40],
  ] as const) {
    seen.shown(shown(of, from));
  }
  seen.cut(30);
  expect(seen.list().map(({ of, from }) => `${of} ${from}`)).toEqual(['b 20', 'a 30']);
  seen.cut(20);
  expect(seen.list().map(({ of, from }) => `${of} ${from}`)).toEqual(['a 20']);
  seen.cut(0);
  expect(seen.list()).toEqual([]);
});

test('those that were shown last are handed on', () => {
  const seen = new SeenVersions();
  for (let i = 0; i <= MAX_SEEN; i++) seen.shown(shown(`s${i}`, i));
  seen.shown(shown('s1', MAX_SEEN + 1));
  const handed = seen.list();
  expect(handed.map(({ of }) => of).slice(0, 2)).toEqual(['s2', 's3']);
  expect([handed.length, handed.at(-1)?.of]).toEqual([MAX_SEEN, 's1']);
  expect(new SeenVersions(handed).get('s1')).toMatchObject({ since: 1, from: MAX_SEEN + 1 });
});
