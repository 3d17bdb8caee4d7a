import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { openTcpInfo } from './tcp-info.ts';

const access = await openTcpInfo();

describe('openTcpInfo', () => {
  test('gives the reason if the library is missing', async () => {
    const missing = await openTcpInfo('linux', () => Promise.reject(new Error('not installed')));
    expect(missing).toEqual({ read: undefined, reason: 'koffi cannot be used: not installed' });
  });

  test('gives the reason on other systems, without loading anything', async () => {
    const elsewhere = await openTcpInfo('darwin', () => Promise.reject(new Error('was loaded')));
    expect(elsewhere).toEqual({ read: undefined, reason: 'no TCP_INFO on darwin' });
  });

  test('either reads or has a reason not to', () => {
    expect(access.read === undefined).toBe(access.reason !== undefined);
  });

  test('reads nothing from a socket without a connection', () => {
    expect(access.read?.(new Socket())).toBeUndefined();
  });

  test('reads the state of a connection until it is closed', async () => {
    const server = createServer((peer) => peer.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    await new Promise((resolve) => socket.write('x', resolve));
    const known = {
      retransmits: 0,
      probes: 0,
      unacked: expect.any(Number),
      unsentBytes: 0,
      lastSentMs: expect.any(Number),
      lastAckMs: expect.any(Number),
      rttMs: expect.any(Number),
    };
    expect(access.read?.(socket)).toEqual(access.read === undefined ? undefined : known);
    socket.destroy();
    expect(access.read?.(socket)).toBeUndefined();
    server.close();
    await once(server, 'close');
  });
});
