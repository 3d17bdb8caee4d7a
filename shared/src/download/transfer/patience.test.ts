import { expect, test } from '@jest/globals';
import { Patience } from './patience.ts';

test('by default, waits for ever for a source that can be asked again', () => {
  const patience = new Patience({}, 0);
  expect(patience.waitsUntil(1e9, 1e8)).toBe(true);
  expect(patience.waitsUntil(undefined, 0)).toBe(false);
});

test('gives up retryForMs after the last byte', () => {
  const patience = new Patience({ retryForMs: 1000 }, 0);
  patience.onBytes(1, 500);
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
  patience.onBytes(1, 5060);
  expect(patience.waitsUntil(9000, 9000)).toBe(true);
});

test('calls a transfer lifeless three seconds after the last bytes', () => {
  const patience = new Patience({}, 0);
  expect(patience.isLifeless(3000)).toBe(false);
  expect(patience.isLifeless(3001)).toBe(true);
  patience.onBytes(4096, 3001);
  expect(patience.isLifeless(6000)).toBe(false);
});

test('calls a transfer lifeless although single bytes drip in', () => {
  const patience = new Patience({}, 0);
  for (let now = 0; now <= 6000; now += 200) patience.onBytes(1, now);
  expect(patience.isLifeless(6000)).toBe(true);
});

test('calls no transfer lifeless whose bytes come in small pieces', () => {
  const patience = new Patience({}, 0);
  for (let now = 0; now <= 6000; now += 200) patience.onBytes(1000, now);
  expect(patience.isLifeless(6000)).toBe(false);
});

test('lets the origin help on while nothing else brings anything', () => {
  const patience = new Patience({}, 0);
  for (let now = 3200; now <= 6000; now += 200) patience.onBytes(100_000, now, true);
  expect(patience.isLifeless(6000)).toBe(true);
  patience.onBytes(100_000, 6000);
  expect(patience.isLifeless(6001)).toBe(false);
});
