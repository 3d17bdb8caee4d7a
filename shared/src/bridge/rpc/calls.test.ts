import { expect, test } from '@jest/globals';
import { CallLost, Calls } from './calls.ts';

/** Calls over a connection that records every sent message. */
function calls() {
  const sent: { id: number; method: string; params: unknown[] }[] = [];
  const told: [string, readonly unknown[]][] = [];
  const ends = new Set<() => void>();
  let isOpen = true;
  const client = new Calls({
    socket: () => ({
      readyState: isOpen ? 1 : 3,
      send: (text) => void sent.push(JSON.parse(text)),
    }),
    wait: (run) => {
      ends.add(run);
      return () => void ends.delete(run);
    },
    onNotification: (method, params) => told.push([method, params]),
  });
  const answer = (id: unknown, more: object) =>
    client.onMessage(JSON.stringify({ jsonrpc: '2.0', id, ...more }));
  const close = () => {
    isOpen = false;
    client.onEnd();
  };
  return { client, sent, told, ends, answer, close };
}

test('each call gets its own answer, whatever their order', async () => {
  const { client, sent, answer, ends } = calls();
  const both = [client.call('a', [1]), client.call('b', [{ x: 2 }])];
  expect(sent.map(({ method, params }) => [method, params])).toEqual([
    ['a', [1]],
    ['b', [{ x: 2 }]],
  ]);
  answer(sent[1]?.id, { result: 'second' });
  answer(sent[0]?.id, { result: 'first' });
  expect(await Promise.all(both)).toEqual(['first', 'second']);
  expect(ends.size).toBe(0);
});

test('an error of the daemon keeps its code and data', async () => {
  const { client, sent, answer } = calls();
  const call = client.call('a', []);
  answer(sent[0]?.id, { error: { code: 1, message: 'no', data: { code: 'wrong-state' } } });
  await expect(call).rejects.toMatchObject({
    code: 1,
    message: 'no',
    data: { code: 'wrong-state' },
  });
});

test('a call ends with its connection, or after too long a silence', async () => {
  const { client, ends, close } = calls();
  const silent = client.call('a', []);
  for (const end of ends) end();
  await expect(silent).rejects.toEqual(new CallLost('silent'));
  const cut = client.call('b', []);
  close();
  await expect(cut).rejects.toEqual(new CallLost('ended'));
  await expect(client.call('c', [])).rejects.toEqual(new CallLost('ended'));
  expect(ends.size).toBe(0);
});

test('notifications are passed on; bad messages and answers to no call are ignored', async () => {
  const { client, told, answer, sent } = calls();
  const call = client.call('a', []);
  client.onMessage('{');
  client.onMessage('[]');
  answer('unheard-of', { result: 1 });
  client.onMessage(JSON.stringify({ method: 'onDownloadStart', params: [{ gid: 'x' }] }));
  expect(told).toEqual([['onDownloadStart', [{ gid: 'x' }]]]);
  answer(sent[0]?.id, { result: 2 });
  expect(await call).toBe(2);
});
