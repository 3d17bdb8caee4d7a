import { expect, test } from '@jest/globals';
import { Restoration } from './restoration.ts';

const forever = new AbortController().signal;

test('requests wait until all is there', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const restoration = new Restoration(() => promise);
  const waited = restoration.wait(forever);
  expect(restoration.isDone).toBe(false);
  resolve();
  await waited;
  expect(restoration.isDone).toBe(true);
  await restoration.wait(forever);
});

test('a request that has waited too long is told when to ask again', async () => {
  const restoration = new Restoration(() => new Promise(() => {}), 0);
  const error = { code: 'depot-unreachable', retryAfterMs: 5000 };
  await expect(restoration.wait(forever)).rejects.toMatchObject(error);
});

test('a client that leaves no longer waits', async () => {
  const restoration = new Restoration(() => new Promise(() => {}));
  const client = new AbortController();
  const waited = restoration.wait(client.signal);
  const left = new Error('left');
  client.abort(left);
  await expect(waited).rejects.toBe(left);
});

test('a restoration that is ended is never taken for a complete one', async () => {
  const restoration = new Restoration(
    (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  );
  const waited = restoration.wait(forever);
  await Promise.all([
    restoration.end(),
    expect(waited).rejects.toMatchObject({ code: 'depot-unreachable' }),
  ]);
  expect(restoration.isDone).toBe(false);
});
