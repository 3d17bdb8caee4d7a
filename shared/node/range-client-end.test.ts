/** Requests that are given up, and connections that the client closes. */

import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '../src/base/errors.ts';
import { ANSWER, BODY, ClientStage, forEver, get, type Seen } from './testing/client-stage.ts';

const stage = new ClientStage();

/** Resolves when the server has received `count` requests. */
async function requests({ heads }: Seen, count: number): Promise<void> {
  while (heads.length < count) await new Promise((resolve) => setImmediate(resolve));
}

describe('RangeClient', () => {
  test('nothing is sent if the signal has already aborted', async () => {
    const seen = await stage.keepOpen();
    const reason = new Error('stopped');
    await expect(get(stage.client(), seen, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(seen.connections).toBe(0);
  });

  test('aborting before the answer closes the connection', async () => {
    const seen = await stage.serve((socket, _, all) => all > 0 && socket.write(ANSWER));
    const from = stage.client(1);
    const stop = new AbortController();
    const answer = get(from, seen, stop.signal);
    await requests(seen, 1);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(answer).rejects.toBe(reason);
    expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(2);
  });

  test('aborting before the body is read closes the connection', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(1);
    const stop = new AbortController();
    const response = await from.open(seen.url, {}, stop.signal);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(response.readInto(Buffer.alloc(10), () => {})).rejects.toBe(reason);
    expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(2);
  });

  test('aborting in the middle of the body stops all writes to the memory', async () => {
    const seen = await stage.serve((socket, _, all) =>
      socket.write(all === 0 ? ANSWER.slice(0, -5) : ANSWER),
    );
    const from = stage.client(1);
    const stop = new AbortController();
    const response = await from.open(seen.url, {}, stop.signal);
    const into = Buffer.alloc(10);
    const reason = new Error('stopped');
    let counted = 0;
    const reading = response.readInto(into, (count) => {
      counted += count;
      if (counted === 5) stop.abort(reason);
    });
    await expect(reading).rejects.toBe(reason);
    into.fill(0xaa);
    for (const socket of seen.sockets) socket.write('56789');
    expect(await get(from, seen)).toBe('0123456789');
    expect(into.equals(Buffer.alloc(10, 0xaa))).toBe(true);
  });

  test('aborting after the end does not affect the next request', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(1);
    const stop = new AbortController();
    expect(await get(from, seen, stop.signal)).toBe('0123456789');
    const next = get(from, seen);
    stop.abort();
    expect(await next).toBe('0123456789');
    expect(seen.connections).toBe(1);
  });

  test('aborting while waiting for a connection lets other requests continue', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(1);
    const first = await from.open(seen.url, {}, forEver);
    const stop = new AbortController();
    const leaving = get(from, seen, stop.signal);
    const staying = get(from, seen);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(leaving).rejects.toBe(reason);
    await first.readInto(Buffer.alloc(10), () => {});
    expect(await staying).toBe('0123456789');
    // The request used the freed connection, not a new one after the idle time.
    expect([seen.connections, seen.heads.length]).toEqual([1, 2]);
  });

  test('discarding an answer after its end does not affect the next request on its connection', async () => {
    const seen = await stage.serve((socket, nth) => {
      if (nth === 0) socket.write(ANSWER);
    });
    const from = stage.client();
    const response = await from.open(seen.url, {}, forEver);
    await response.readInto(Buffer.alloc(10), () => {});
    const next = get(from, seen);
    await requests(seen, 2);
    response.discard();
    for (const socket of seen.sockets) socket.write(ANSWER);
    expect([await next, seen.heads.length, seen.connections]).toEqual([BODY.toString(), 2, 1]);
  });

  test('closing the client closes idle connections, and lets busy ones finish', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(2);
    const busy = await from.open(seen.url, {}, forEver);
    await get(from, seen);
    expect(seen.sockets.size).toBe(2);
    from.close();
    while (seen.sockets.size > 1) await new Promise((resolve) => setImmediate(resolve));
    const into = Buffer.alloc(10);
    await busy.readInto(into, () => {});
    expect(into.equals(BODY)).toBe(true);
  });
});

describe('closeOrigin', () => {
  test('running and waiting requests to a closed origin fail with the given error', async () => {
    const seen = await stage.serve((socket) => socket.write(ANSWER.slice(0, -5)));
    const from = stage.client(1);
    const response = await from.open(seen.url, {}, forEver);
    const read = response.readInto(Buffer.alloc(10), () => {});
    const waiting = from.open(seen.url, {}, forEver);
    const error = new MillraceError('too-many-origins', 'others have fewer');
    from.closeOrigin(seen.url.origin, error);
    await expect(read).rejects.toBe(error);
    await expect(waiting).rejects.toBe(error);
    await until(() => seen.sockets.size === 0);
    expect(seen.heads).toHaveLength(1);
  });

  test('a closed origin can be asked again over a new connection', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(1);
    expect(await get(from, seen)).toBe(String(BODY));
    from.closeOrigin(seen.url.origin, new MillraceError('too-many-origins'));
    expect(await get(from, seen)).toBe(String(BODY));
    expect(await get(from, seen)).toBe(String(BODY));
    expect(seen.connections).toBe(2);
  });

  test('without an error only idle connections are closed', async () => {
    const seen = await stage.serve((socket) => socket.write(ANSWER));
    const from = stage.client(2);
    const response = await from.open(seen.url, {}, forEver);
    from.closeOrigin(seen.url.origin);
    const into = Buffer.alloc(10);
    await response.readInto(into, () => {});
    expect(into).toEqual(BODY);
  });
});

/** Polls until the condition holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
