/** Bytes that a player needs are fetched first, while the rest is still missing. */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fetchAll, openResponse } from '../../fixtures/clients/http-client.ts';
import { Streams } from '../../fixtures/programs/streams.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1_000_000;
const SIZE = 60 * MB;
const SEEK = 45 * MB;
const CONNECTIONS = 2;
/** Bytes to read first, fewer than the first answer brings. */
const BEGIN = 50_000;

const streams = await Streams.start();
const { origin } = streams;

beforeEach(() => streams.begin());
afterEach(() => streams.end());
afterAll(() => streams.stop());

async function gatedStream(): Promise<{ url: string; address: string }> {
  const url = streams.gated(SIZE);
  const stream = await streams.open(url, ['--connections', String(CONNECTIONS)]);
  return { url, address: stream.url };
}

/** Reads `count` bytes of a body, and leaves the rest. */
async function firstBytes(response: IncomingMessage, count: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  while (bytes < count) {
    const piece = response.read() as Buffer | null;
    if (piece === null) {
      await new Promise((resolve) => response.once('readable', resolve));
      continue;
    }
    pieces.push(piece);
    bytes += piece.length;
  }
  const all = Buffer.concat(pieces);
  if (bytes > count) response.unshift(all.subarray(count));
  return all.subarray(0, count);
}

/** Returns the first byte positions of the requests that the origin got, in order. */
function starts(): number[] {
  return origin.requests.flatMap(({ headers }) => {
    const start = /^bytes=(\d+)-/.exec(headers.range ?? '')?.[1];
    return start === undefined ? [] : [Number(start)];
  });
}

describe('a player', () => {
  test('has the beginning while the rest is missing', async () => {
    const { url, address } = await gatedStream();
    const response = await openResponse(address);
    const begin = await firstBytes(response, BEGIN);
    expect(begin.equals(origin.content(url).subarray(0, BEGIN))).toBe(true);
    await until(() => origin.waiting > 0);
    origin.openGate();
    const rest = await firstBytes(response, SIZE - BEGIN);
    const digest = createHash('sha256').update(begin).update(rest).digest('hex');
    expect(digest).toBe(origin.digest(url));
  });

  test('that seeks is served before the sequential fetch, and gets the right bytes', async () => {
    const { url, address } = await gatedStream();
    const reading = fetchAll(address);
    // Every connection is busy with the sequential fetch, or is about to be: the first answer waits in
    // its middle, and may do so without a reader.
    await until(() => origin.waiting >= CONNECTIONS);
    const seek = await openResponse(address, { headers: { range: `bytes=${SEEK}-` } });
    origin.openGate();
    const there = await firstBytes(seek, MB);
    expect(there.equals(origin.content(url).subarray(SEEK, SEEK + MB))).toBe(true);
    seek.destroy();
    expect((await reading).digest).toBe(origin.digest(url));
    // A request begins where the seek does, before the sequential fetch has come near it. Requests that
    // connections were about to send go before it, more of them on a busy machine, which makes small ones.
    const sent = starts();
    const near = sent.findIndex((start) => start >= SEEK - 8 * MB && start <= SEEK);
    expect(sent[near]).toBe(SEEK);
  });
});
