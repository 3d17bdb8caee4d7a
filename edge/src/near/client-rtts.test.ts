import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import type { ReadTcpInfo } from '../clients/tcp-info.ts';
import { ClientRtts } from './client-rtts.ts';

const CLIENT = '192.0.2.1';
const NETWORK = '192.0.2.0/24';
const STATE = {
  ...{ retransmits: 0, probes: 0, unacked: 0, unsentBytes: 0, lastSentMs: 0, lastAckMs: 0 },
};

/** Measures requests whose round trips the test chooses. */
function stage(proxy: string | undefined = undefined) {
  const rtts = new NetworkRtts('own');
  const kernel = { rttMs: undefined as number | undefined, asked: 0, now: 0 };
  const readTcpInfo: ReadTcpInfo = () => {
    kernel.asked++;
    return { ...STATE, rttMs: kernel.rttMs };
  };
  const clientRtts = new ClientRtts({
    readTcpInfo,
    rtts,
    clientAddress: { isProxy: () => proxy !== undefined },
    now: () => kernel.now,
  });
  const measure = (socket: Socket, client = CLIENT) =>
    clientRtts.measure({ socket } as IncomingMessage, {} as ServerResponse, client);
  return { rtts, kernel, measure };
}

describe('ClientRtts', () => {
  test('notes the round trip of the connection for the network of the client', () => {
    const { rtts, kernel, measure } = stage();
    kernel.rttMs = 12;
    measure(new Socket());
    expect(rtts.rtt(NETWORK, 'own', 0)).toBe(12);
  });

  test('asks the kernel twice a minute at most for one connection', () => {
    const { kernel, measure } = stage();
    const socket = new Socket();
    for (kernel.now = 0; kernel.now < 60_000; kernel.now += 1000) measure(socket);
    expect(kernel.asked).toBe(2);
    measure(new Socket());
    expect(kernel.asked).toBe(3);
  });

  test('notes nothing for the connection of a reverse proxy', () => {
    const { rtts, kernel, measure } = stage('10.0.0.1');
    kernel.rttMs = 1;
    measure(new Socket());
    expect([kernel.asked, rtts.size]).toEqual([0, 0]);
  });

  test('notes nothing where the kernel has measured nothing, or the client has no address', () => {
    const { rtts, kernel, measure } = stage();
    measure(new Socket());
    kernel.rttMs = 5;
    measure(new Socket(), '');
    expect(rtts.size).toBe(0);
  });
});
