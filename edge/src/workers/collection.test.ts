import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Collection } from './collection.ts';

const LIMIT_MS = 15_000;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** Watches a collection: its parts once it has ended, undefined before. */
function seen(collection: Collection<string>): () => Promise<unknown[] | undefined> {
  let parts: unknown[] | undefined;
  void collection.complete().then((all) => {
    parts = all;
  });
  return async () => {
    await Promise.resolve();
    await Promise.resolve();
    return parts;
  };
}

test('the parts of all processes are the answer, and no timer is left', async () => {
  const collection = new Collection(['a', 'b'], LIMIT_MS);
  const end = seen(collection);
  collection.onPart('b', 2);
  expect(await end()).toBeUndefined();
  collection.onPart('a', 1);
  expect(await end()).toEqual([2, 1]);
  expect(jest.getTimerCount()).toBe(0);
});

test('a process that is busy for seconds is waited for', async () => {
  const collection = new Collection(['a', 'b'], LIMIT_MS);
  const end = seen(collection);
  collection.onPart('a', 1);
  jest.advanceTimersByTime(LIMIT_MS - 1);
  expect(await end()).toBeUndefined();
  collection.onPart('b', 2);
  expect(await end()).toEqual([1, 2]);
});

test('a process that dies in the middle is not waited for', async () => {
  const collection = new Collection(['a', 'b'], LIMIT_MS);
  const end = seen(collection);
  collection.onPart('a', 1);
  collection.onEnded('b');
  expect(await end()).toEqual([1]);
});

test('a process that says nothing is left out after the limit', async () => {
  const collection = new Collection(['a', 'b'], LIMIT_MS);
  const end = seen(collection);
  collection.onPart('a', 1);
  jest.advanceTimersByTime(LIMIT_MS);
  expect(await end()).toEqual([1]);
});

test('a collection of no processes is complete at once', async () => {
  expect(await new Collection([], LIMIT_MS).complete()).toEqual([]);
});
