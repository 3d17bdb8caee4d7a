import { describe, expect, test } from '@jest/globals';
import { ofPrefixed } from './prefixed-link.ts';

const ID = 'ABCDEFGHIJKLMNOP';
const PATH = `/-/d/${ID}/${'s'.repeat(32)}/a%20b`;
const read = (target: string) =>
  ofPrefixed(target, 'https', (id, origin) => id === ID && origin === 'https://depot.example');

describe('a prefixed URL', () => {
  test.each([
    `/https://depot.example${PATH}`,
    `/depot.example${PATH}?a=b`,
    `/https:/depot.example${PATH}`,
    `/${encodeURIComponent(`https://depot.example${PATH}`)}`,
    `/${encodeURIComponent(`https://depot.example${PATH}`).replace('%3A', ':')}`,
  ])('of a depot of the network is read as its link: %s', (target) => {
    expect(read(target)).toBe(PATH);
  });

  test.each([
    `/https://other.example${PATH}`,
    `/http://depot.example${PATH}`,
    `/https://depot.example:444${PATH}`,
    `/https://depot.example${PATH.replace('A', 'B')}`,
    `/https://depot.example/-/depot/m/${ID}/${'s'.repeat(32)}`,
    `/https://depot.example/x${PATH}`,
    `/https://user@depot.example${PATH}`,
    `/signed/${PATH}`,
    PATH,
  ])('of anything else is not: %s', (target) => {
    expect(read(target)).toBeUndefined();
  });
});
