import { describe, expect, test } from '@jest/globals';
import { avoiding, INGRESS, MAX_NAMES } from './path.ts';

const names = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe('nodes to avoid', () => {
  test('are named once, however many nodes on the path name them', () => {
    const path = avoiding(avoiding(INGRESS, ['a', 'b']), ['b', 'c']);
    expect(path).toEqual({ ...INGRESS, avoid: ['a', 'b', 'c'] });
  });

  test('are as many as other nodes read, those that were named first', () => {
    const first = names(MAX_NAMES - 1, 'first');
    const path = avoiding(avoiding(INGRESS, first), ['next', ...names(3, 'last')]);
    expect(path.avoid).toEqual([...first, 'next']);
  });
});
