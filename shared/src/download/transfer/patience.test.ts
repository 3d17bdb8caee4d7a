import { expect, test } from '@jest/globals';
import { Patience } from './patience.ts';

test('by default, waits for ever for a source that can be asked again', () => {
  const patience = new Patience({}, 0);
  expect(patience.waitsUntil(1e9, 1e8)).toBe(true);
  expect(patience.waitsUntil(undefined, 0)).toBe(false);
});

test('gives up retryForMs after the last byte', () => {
  const patience = new Patience({ retryForMs: 1000 }, 0);
  patience.onBytes(500);
  expect(patience.waitsUntil(1400, 1400)).toBe(true);
  expect(patience.waitsUntil(1500, 1500)).toBe(false);
});

test('does not wait for a source that is usable only after the time to give up', () => {
  const patience = new Patience({ retryForMs: 1000 }, 0);
  expect(patience.waitsUntil(1000, 10)).toBe(true);
  expect(patience.waitsUntil(1001, 10)).toBe(false);
});

test('yields yieldsAfterMs after the first moment without a request, unless a byte comes', () => {
  const patience = new Patience({ yieldsAfterMs: 100 }, 0);
  expect(patience.waitsUntil(5000, 5000)).toBe(true);
  expect(patience.waitsUntil(5100, 5050)).toBe(true);
  expect(patience.waitsUntil(5101, 5050)).toBe(false);
  patience.onBytes(5060);
  expect(patience.waitsUntil(9000, 9000)).toBe(true);
});
