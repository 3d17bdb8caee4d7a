import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { Metrics } from '../figures/metrics.ts';
import { STREAM_BYTES, TRANSFER_BYTES } from '../memory/process-weights.ts';
import { type Exchange, Exchanges } from './exchanges.ts';

const MiB = 1024 * 1024;

/** @param headersSent false while the response waits for the origin */
function exchange(client: string, headersSent: boolean): Exchange {
  const res = { headersSent, writableLength: 0, socket: null, destroy() {} };
  return {
    req: { url: '/', rawHeaders: [] as string[] } as IncomingMessage,
    res: res as unknown as ServerResponse,
    controller: new AbortController(),
    admission: { waitMs: () => 0, sent() {}, fetched() {}, release() {} },
    client,
    clientKey: client,
    startedAt: 0,
    kind: 'file',
    url: undefined,
    sentBytes: 0,
    bodyBytes: 0,
    heldBytes: () => (headersSent ? MiB : 0),
    aware: false,
  };
}

function setUp(all: readonly Exchange[]) {
  const short: string[] = [];
  const exchanges = new Exchanges(new Metrics(), (outcome, client) => {
    short.push(`${client} ${outcome}`);
  });
  for (const one of all) exchanges.add(one);
  return { exchanges, short };
}

describe('when memory is short', () => {
  test('transfers that began to wait while there was memory do not take the memory that slow readers free', () => {
    const flood = [exchange('flood', true), exchange('flood', false), exchange('flood', false)];
    const honest = exchange('honest', false);
    const { exchanges, short } = setUp([...flood, honest]);
    expect(exchanges.freeMemory(100 * MiB)).toBe(2);
    expect(short).toEqual(['flood refused', 'flood refused']);
    expect(flood[1]?.controller.signal.reason).toMatchObject({ code: 'out-of-memory' });
    expect([flood[0], honest].map((one) => one?.controller.signal.aborted)).toEqual([false, false]);
    // They are over, though their handlers have not taken them out yet.
    expect(exchanges.freeMemory(100 * MiB)).toBe(0);
  });

  test('slow readers are reset even if waiting transfers are refused, because those come again', () => {
    const reader = exchange('slow', true);
    const { exchanges, short } = setUp([reader, exchange('slow', false)]);
    for (let s = 0; s <= 12; s++) exchanges.observeReaders(s * 1000);
    expect(exchanges.freeMemory(1)).toBe(2);
    expect(short).toEqual(['slow refused', 'slow evicted']);
    expect(reader.controller.signal.reason).toMatchObject({ code: 'out-of-memory' });
  });
});

test('a stream of HTTP/2 is not weighed twice, as a request and as a transfer', () => {
  const plain = exchange('a', true);
  const stream = exchange('b', true);
  Object.assign(stream.res, { stream: {} });
  const { exchanges } = setUp([plain, stream]);
  expect(exchanges.bytes).toBe(2 * TRANSFER_BYTES - STREAM_BYTES);
  exchanges.delete(stream);
  exchanges.delete(stream);
  expect(exchanges.bytes).toBe(TRANSFER_BYTES);
  exchanges.delete(plain);
  expect(exchanges.bytes).toBe(0);
});
