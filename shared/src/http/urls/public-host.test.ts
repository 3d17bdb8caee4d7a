import { expect, test } from '@jest/globals';
import { mayBeTold } from './public-host.ts';

test.each([
  ['https://edge.example', false],
  ['http://93.184.216.34:3125', false],
  ['http://127.0.0.1:3125', true],
  ['http://[fd00::1]:3125', true],
  ['http://edge.lan/', true],
])('%s may be told of a file in the own network: %s', (edge, told) => {
  expect(mayBeTold(edge, true)).toBe(told);
  expect(mayBeTold(edge, false)).toBe(true);
});
