/** Orders of certificates from an authority that does not answer. */

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { axios } from 'acme-client';
import { AcmeFolder } from './acme-folder.ts';
import { orderCertificate } from './order.ts';

/** Pause of the client before it tries again, seconds. */
const RETRY = { retryMaxAttempts: 5, retryDefaultDelay: 0.01 };

test('an order that is ended lets its request go, and sends no other', async () => {
  await using done = new AsyncDisposableStack();
  const parent = await mkdtemp(join(tmpdir(), 'millrace-acme-'));
  done.defer(() => rm(parent, { recursive: true, force: true }));
  const folder = new AcmeFolder(join(parent, 'cert.pem'));
  await folder.create();
  const authority = createServer();
  done.defer(() => void authority.close().closeAllConnections());
  await once(authority.listen(0, '127.0.0.1'), 'listening');
  Object.assign(axios.defaults, { acmeSettings: RETRY });
  const end = new AbortController();
  const { port } = authority.address() as AddressInfo;
  const directory = `http://127.0.0.1:${port}/directory`;
  const asked = once(authority, 'request') as Promise<[IncomingMessage]>;
  const { signal } = end;
  const challenges = ['http-01'] as const;
  const own = { name: 'edge.example', directory, contact: undefined, folder };
  const options = { ...own, challenges, signal };
  const order = orderCertificate(options).catch((error: unknown) => error);
  const [request] = await asked;
  const others: unknown[] = [];
  authority.on('request', (other) => others.push(other));
  const left = once(request.socket, 'close');
  end.abort(new Error('too late'));
  await left;
  // The client waits before it tries again, and learns then that the order has ended.
  expect(await order).toEqual(new Error('too late'));
  expect(others).toEqual([]);
  // A later order is none of the ended one's business.
  const next = new AbortController();
  const again = once(authority, 'request');
  const later = orderCertificate({ ...options, signal: next.signal }).catch(() => {});
  await again;
  next.abort(new Error('done'));
  await later;
});
