import { expect, test } from '@jest/globals';
import { sourceName } from './source-name.ts';

const A = 'https://a.example/dir/x.iso';

test('a source has the name of its host, where no other has that host', () => {
  expect(sourceName(A, [])).toBe('a.example');
  expect(sourceName(A, [A, 'https://b.example/dir/x.iso'])).toBe('a.example');
  expect(sourceName(A, ['https://a.example:8443/dir/x.iso'])).toBe('a.example');
});

test('two sources of one host are told apart by their paths, without their queries', () => {
  const other = 'https://a.example/old/x.iso?token=secret';
  expect([sourceName(A, [A, other]), sourceName(other, [A, other])]).toEqual([
    'a.example/dir/x.iso',
    'a.example/old/x.iso',
  ]);
});

test('the end of a long path is named', () => {
  const long = `https://a.example/${'d/'.repeat(4000)}x.iso`;
  const name = sourceName(long, [A]);
  expect(name).toMatch(/^a\.example\/….*d\/x\.iso$/);
  expect(name.length).toBeLessThan(80);
});
