import { expect, test } from '@jest/globals';
import { MAX_REFUSALS, OriginRefusals, REFUSAL_MS } from './origin-refusals.ts';

const [ONE, OTHER] = ['https://one.example', 'https://other.example'];

test('a node that refuses an origin is avoided for that origin only, and not for ever', () => {
  const refusals = new OriginRefusals();
  refusals.onRefused('a', ONE, 0);
  refusals.onRefused('b', ONE, 1);
  expect([...(refusals.nodes(ONE, 1) ?? [])]).toEqual(['a', 'b']);
  expect(refusals.nodes(OTHER, 1)).toBeUndefined();
  expect([...(refusals.nodes(ONE, REFUSAL_MS) ?? [])]).toEqual(['b']);
  expect(refusals.nodes(ONE, REFUSAL_MS + 1)).toBeUndefined();
});

test('a refusal that is repeated counts from the last time', () => {
  const refusals = new OriginRefusals();
  refusals.onRefused('a', ONE, 0);
  refusals.onRefused('a', ONE, 5);
  expect([...(refusals.nodes(ONE, REFUSAL_MS) ?? [])]).toEqual(['a']);
});

test('the oldest refusals are forgotten when there are too many', () => {
  const refusals = new OriginRefusals();
  for (let i = 0; i <= MAX_REFUSALS; i++) refusals.onRefused('a', `https://${i}.example`, 0);
  expect(refusals.nodes('https://0.example', 0)).toBeUndefined();
  expect(refusals.nodes(`https://${MAX_REFUSALS}.example`, 0)?.size).toBe(1);
});
