import { describe, expect, test } from '@jest/globals';
import { nearest } from './nearest.ts';

const names = ['host', 'port', 'cache-memory', 'cache-dir', 'client-rate'];

describe('nearest', () => {
  test.each([
    ['hots', 'host'],
    ['hosts', 'host'],
    ['prot', 'port'],
    ['pot', 'port'],
    ['cache-memry', 'cache-memory'],
    ['cachememory', 'cache-memory'],
    ['cache-die', 'cache-dir'],
    ['clientrates', 'client-rate'],
    ['host', 'host'],
    ['cahce-memroy', 'cache-memory'],
    ['soth', undefined],
    ['something-else', undefined],
    ['', undefined],
  ])('%j suggests %j', (text, suggestion) => {
    expect(nearest(text, names)).toBe(suggestion);
  });

  test('suggests the first of several that are equally near', () => {
    expect(nearest('cache-dix', ['cache-dib', 'cache-dir'])).toBe('cache-dib');
  });

  test('suggests nothing if there are no candidates', () => {
    expect(nearest('host', [])).toBeUndefined();
  });

  test('takes any number of candidates from any iterable', () => {
    expect(nearest('ports', new Set(names).values())).toBe('port');
  });
});
