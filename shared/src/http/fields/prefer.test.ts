import { describe, expect, test } from '@jest/globals';
import { prefersOutOfOrder } from './prefer.ts';

describe('Prefer', () => {
  test.each([
    'delivery=out-of-order',
    'Delivery = Out-Of-Order',
    'delivery="out-of-order"',
    'respond-async, delivery=out-of-order',
    'delivery=out-of-order; foo=bar, wait=10',
    'delivery=out-of-order, delivery=in-order',
    'x="a, delivery=in-order", delivery=out-of-order',
  ])('%j accepts parts in any order', (value) => {
    expect(prefersOutOfOrder(value)).toBe(true);
  });

  test.each([
    undefined,
    '',
    'delivery',
    'delivery=',
    'delivery=in-order',
    'out-of-order',
    'delivery=out-of-order-please',
    'xdelivery=out-of-order',
    'wait=10; delivery=out-of-order',
    'x="delivery=out-of-order"',
    'delivery=in-order, delivery=out-of-order',
  ])('%j does not accept parts in any order', (value) => {
    expect(prefersOutOfOrder(value)).toBe(false);
  });
});
