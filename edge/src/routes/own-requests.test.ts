import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { ClientAddress, parseNetwork } from '@millrace/shared/node/clients/client-address';
import { OwnRequests } from './own-requests.ts';

const A = '192.0.2.1';

function limit(perSecond = 2) {
  const refusals: string[] = [];
  const clientAddress = new ClientAddress([parseNetwork('10.0.0.0/8')], 'x-forwarded-for');
  const all = new OwnRequests({
    perSecond,
    clientAddress,
    onRefusal: (resource, outcome, client) => refusals.push(`${resource} ${outcome} ${client}`),
  });
  /** Counts the requests of 50 that are let through. */
  const admitted = (remoteAddress: string, url: string, more: object = {}, isAdmin = false) => {
    let count = 0;
    for (let i = 0; i < 50; i++) {
      const req = { url, headers: more, socket: { remoteAddress } } as unknown as IncomingMessage;
      try {
        all.admit(req, isAdmin, 0);
        count++;
      } catch (error) {
        expect(error).toMatchObject({ code: 'too-many-requests', retryAfterMs: 500 });
      }
    }
    return count;
  };
  return { admitted, refusals };
}

describe('OwnRequests', () => {
  test('each client gets five seconds worth at once', () => {
    const { admitted, refusals } = limit();
    expect(admitted(A, '/-/status')).toBe(10);
    expect(admitted('192.0.2.2', '/-/metrics')).toBe(10);
    expect(refusals).toHaveLength(80);
    expect(refusals[0]).toBe('ownRequests refused 192.0.2.1');
  });

  test('an IPv6 /64 is one client', () => {
    const { admitted } = limit();
    expect(admitted('2001:db8::1', '/-/status')).toBe(10);
    expect(admitted('2001:db8::2', '/-/status')).toBe(0);
    expect(admitted('2001:db8:0:1::2', '/-/status')).toBe(10);
  });

  test('clients behind a trusted proxy count by themselves', () => {
    const { admitted } = limit();
    expect(admitted('10.0.0.1', '/-/status', { 'x-forwarded-for': A })).toBe(10);
    expect(admitted('10.0.0.1', '/-/status', { 'x-forwarded-for': '192.0.2.2' })).toBe(10);
  });

  test.each([
    ['health checks of this machine', '127.0.0.1', '/-/live', 50],
    ['health checks of this machine over IPv6', '::1', '/-/ready', 50],
    ['health checks of a trusted proxy', '10.0.0.1', '/-/live', 50],
    ['health checks of strangers', A, '/-/live', 10],
    ['other paths of this machine', '127.0.0.1', '/-/status', 10],
    ['requests of other nodes', A, '/-/ping', 50],
    ['paths that are not quite those', A, '/-/pings', 10],
  ])('%s', (_what, address, url, count) => {
    expect(limit().admitted(address, url)).toBe(count);
  });

  test('a field of other nodes does not help if the path is not theirs', () => {
    expect(limit().admitted(A, '/-/status', { 'x-bigfile': '1' })).toBe(10);
  });

  test('administrators are not counted, and 0 means no limit', () => {
    expect(limit().admitted(A, '/-/purge', {}, true)).toBe(50);
    expect(limit(0).admitted(A, '/-/status')).toBe(50);
  });
});
