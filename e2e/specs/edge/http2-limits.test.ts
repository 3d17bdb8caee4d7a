/** HTTP/2 for clients: the limits for connections of HTTP/1.1 hold for streams. */

import { describe, expect, test } from '@jest/globals';
import { END_STREAM, FRAME } from '../../fixtures/clients/h2-frames.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { active, H2Stage } from '../../fixtures/stages/h2-stage.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;
/** Error codes (RFC 9113 7). */
const [PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED_STREAM, ENHANCE_YOUR_CALM] = [1, 2, 7, 11];
const stage = new H2Stage();

describe('clients that take little, or too much', () => {
  test('a client that reads nothing slows the fetch, and harms no other stream', async () => {
    const edge = await stage.start('--cache-memory', '0');
    const client = await stage.frames(edge, 65_535);
    const slow = stage.origin.url('none', { seed: 'slow', size: 40 * MiB });
    client.request(1, `/${slow}`);
    await until(() => client.body(1).length >= 65_535);
    const good = stage.origin.url('none', { seed: 'good', size: 8 * MiB });
    client.request(3, `/${good}`);
    client.openWindow(3, 8 * MiB);
    await until(() => client.ended(3));
    expect(sha256(client.body(3))).toBe(stage.origin.digest(good));
    // The client's window is 16 MiB and the other file 8 MiB; little else is in flight.
    expect((await edge.status()).bytes.fromOrigins).toBeLessThan((16 + 8 + 4) * MiB);
    expect(client.body(1).length).toBe(65_535);
    client.openWindow(1, 40 * MiB);
    await until(() => client.ended(1));
    expect(sha256(client.body(1))).toBe(stage.origin.digest(slow));
  });

  test('streams count as transfers of their client', async () => {
    const edge = await stage.start('--client-transfers', '2');
    const client = await stage.connect(edge);
    const path = `/${stage.origin.url('none', { seed: 'limited', size: 32 * MiB })}`;
    const [first, second] = [await client.open(path), await client.open(path)];
    expect([first.status, second.status]).toEqual([200, 200]);
    const third = await client.fetch(path);
    expect(third.status).toBe(429);
    first.stream.close(8);
    await until(async () => (await active(edge)) === 1);
    expect((await client.open(path)).status).toBe(200);
  });

  test('more streams than a connection may have are refused', async () => {
    const edge = await stage.start('--client-transfers', '0', '--client-requests', '0');
    const client = await stage.frames(edge, 0);
    const path = `/${stage.origin.url('none', { seed: 'crowd', size: MiB })}`;
    for (let i = 0; i <= 100; i++) client.request(2 * i + 1, path);
    const { payload } = await client.frame(FRAME.reset, 201);
    expect(payload.readUInt32BE()).toBe(REFUSED_STREAM);
    await until(async () => (await active(edge)) === 100);
  });

  test('rapid reset: a client that opens and resets streams without end gets a GOAWAY', async () => {
    const edge = await stage.start('--client-requests', '0');
    const client = await stage.frames(edge);
    const good = await stage.connect(edge);
    const path = `/${stage.origin.url('none', { seed: 'rapid' })}`;
    let sent = 0;
    const begunAt = performance.now();
    while (!client.closed && sent < 5000) {
      // Leave nothing unread: the kernel would reset the connection and lose the GOAWAY.
      await client.inOnePiece(() => {
        for (let i = 0; i < 50; i++, sent++) {
          client.request(2 * sent + 1, path);
          client.reset(2 * sent + 1);
        }
      });
    }
    const goAway = client.frames.find(({ type }) => type === FRAME.goAway);
    expect([INTERNAL_ERROR, ENHANCE_YOUR_CALM]).toContain(goAway?.payload.readUInt32BE(4));
    const seconds = (performance.now() - begunAt) / 1000;
    const { transfers } = await edge.status();
    // The edge allows 200 resets, and 20 more per second; the last piece exceeds them. A busy
    // machine takes seconds for the pieces.
    expect(transfers.requests).toBeLessThan(300 + 20 * seconds);
    expect(edge.log.filter((line) => /internal error/.test(line))).toEqual([]);
    const url = stage.origin.url('none', { seed: 'calm' });
    expect((await good.fetch(`/${url}`)).digest).toBe(stage.origin.digest(url));
    await until(async () => (await active(edge)) === 0);
  });

  test('headers that are too large or never end are refused, and the edge keeps running', async () => {
    const edge = await stage.start();
    const client = await stage.frames(edge);
    client.request(1, '/-/live', { 'x-filler': 'x'.repeat(10_000), 'x-more': 'y'.repeat(6000) });
    await until(() => client.ended(1));
    const big = await stage.connect(edge);
    const many = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`x-filler-${i}`, 'x'.repeat(4000)]),
    );
    const outcome = await big.fetch('/-/live', many).then(
      ({ status }) => status,
      () => 'refused',
    );
    expect([431, 'refused']).toContain(outcome);
    // CONTINUATION frames without END_HEADERS (RFC 9113 6.10): memory for them is limited.
    const endless = await stage.frames(edge);
    endless.send(FRAME.headers, END_STREAM, 1, Buffer.alloc(0));
    for (let i = 0; i < 200 && !endless.closed; i++) endless.send(9, 0, 1, Buffer.alloc(16_000));
    await until(() => endless.closed);
    expect((await fetch(`${edge.url}/-/live`)).status).toBe(200);
  });

  test('a Host that differs from :authority is a protocol error', async () => {
    const client = await stage.frames(await stage.start());
    client.request(1, '/-/live', { host: 'elsewhere.example' });
    expect((await client.frame(FRAME.reset, 1)).payload.readUInt32BE()).toBe(PROTOCOL_ERROR);
  });

  test('requests between nodes are refused: their interim responses are not for HTTP/2 streams', async () => {
    const edge = await stage.start('--peers', '127.0.0.1:1');
    const client = await stage.connect(edge);
    const { status } = await client.fetch(`/${stage.origin.url('none')}`, { 'x-bigfile': '1' });
    expect(status).toBe(403);
  });
});
