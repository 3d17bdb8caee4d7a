import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { stateOf } from './depot-client.ts';

const reason = new MillraceError('interrupted', 'for this test');

test('a request that is given up at once is not sent, and its error ends no process', async () => {
  let asked = 0;
  const server = createServer(() => asked++).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/-/depot/w/x/y`;
  await expect(stateOf(url, AbortSignal.abort(reason))).rejects.toBe(reason);
  const later = new AbortController();
  const state = stateOf(url, later.signal);
  later.abort(reason);
  await expect(state).rejects.toBe(reason);
  // An error without a listener would come with the end of the socket.
  server.close();
  await once(server, 'close');
  expect(asked).toBeLessThanOrEqual(1);
});
