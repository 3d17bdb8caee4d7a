import type { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../src/base/clock.ts';
import {
  bytesOf,
  ConnectionStage,
  get,
  gone,
  REQUEST,
  response,
} from './testing/connection-stage.ts';

const stage = new ConnectionStage();

const random = seededRandom(1);
const bytes = (length: number) => bytesOf(random, length);

/** Sends the data in pieces that end at the given positions, usually one packet each. */
async function sendCut(socket: Socket, data: Buffer, cuts: readonly number[]): Promise<void> {
  let at = 0;
  for (const end of [...cuts, data.length]) {
    if (end > at && !socket.destroyed) {
      await new Promise((resolve) => socket.write(data.subarray(at, end), resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    at = Math.max(at, end);
  }
}

describe('AnswerReader', () => {
  test('an empty body is read without waiting for more bytes', async () => {
    const connection = await stage.connect((socket) => socket.write(response(bytes(0))));
    await connection.request(REQUEST);
    await connection.readInto(Buffer.alloc(0), () => {});
    expect(connection.reusable).toBe(true);
  });

  test('an answer is read the same wherever it is cut in two', async () => {
    const body = bytes(60);
    const whole = response(body, 'ETag: "a"');
    const connection = await stage.connect((socket, nth) => void sendCut(socket, whole, [nth]));
    for (let cut = 0; cut < whole.length; cut++) {
      expect((await get(connection, body.length)).equals(body)).toBe(true);
    }
  });

  test('an answer is read the same in any pieces, down to single bytes', async () => {
    const body = bytes(3000);
    const whole = response(body);
    const connection = await stage.connect((socket, nth) => {
      const pieces = nth === 0 ? whole.length : Math.ceil(random() * 20);
      const step = whole.length / pieces;
      void sendCut(
        socket,
        whole,
        Array.from({ length: pieces }, (_, i) => Math.ceil(i * step)),
      );
    });
    for (let i = 0; i < 10; i++) expect((await get(connection, 3000)).equals(body)).toBe(true);
  });

  test('a head is read right from memory that was handed out before the last answer ended', async () => {
    // Each answer comes whole in one packet: its body is copied out of the head's memory, and the
    // kernel already holds the rest of that memory for the next bytes.
    const bodies = Array.from({ length: 8 }, (_, i) => bytes(20 + 37 * i));
    const connection = await stage.connect((socket, nth) => {
      const pad = nth % 2 === 0 ? [] : [`X-Pad: ${'p'.repeat(200)}`];
      socket.write(response(bodies[nth] as Buffer, `X-Nth: ${nth}`, ...pad));
    });
    for (const [nth, body] of bodies.entries()) {
      const { headers } = await connection.request(REQUEST);
      expect(headers['x-nth']).toBe(String(nth));
      const into = Buffer.alloc(body.length);
      await connection.readInto(into, () => {});
      expect(into.equals(body)).toBe(true);
    }
  });

  test('interim responses are reported one by one, however they are cut, before the answer', async () => {
    const interim = [1, 2, 3].map((n) => `HTTP/1.1 102 Processing\r\nProgress: ${n}\r\n\r\n`);
    const whole = `${interim.join('')}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody`;
    const random = seededRandom(7);
    for (let i = 0; i < 20; i++) {
      const cut = Math.floor(random() * whole.length);
      const connection = await stage.connect((socket) => {
        socket.write(whole.slice(0, cut));
        setImmediate(() => socket.write(whole.slice(cut)));
      });
      const told: unknown[] = [];
      const head = await connection.request('GET / HTTP/1.1\r\n\r\n', ({ status, headers }) =>
        told.push([status, headers.progress]),
      );
      expect(told).toEqual([1, 2, 3].map((n) => [102, String(n)]));
      expect(head.status).toBe(200);
      const body = Buffer.alloc(4);
      await connection.readInto(body, () => {});
      expect(body.toString()).toBe('body');
    }
  });

  test('a body larger than any buffer is read to the last byte', async () => {
    const body = bytes(3_000_000);
    const connection = await stage.connect((socket) => socket.write(response(body)));
    expect((await get(connection, body.length)).equals(body)).toBe(true);
    expect((await get(connection, body.length)).equals(body)).toBe(true);
  });

  test('the body is held back until the caller chooses its target', async () => {
    const body = bytes(100_000);
    const connection = await stage.connect((socket) => socket.write(response(body)));
    const { status, framing } = await connection.request(REQUEST);
    expect([status, framing]).toEqual([206, { kind: 'length', bytes: 100_000 }]);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(connection.reusable).toBe(false);
    const into = Buffer.alloc(100_000);
    await connection.readInto(into, () => {});
    expect(into.equals(body)).toBe(true);
    expect(connection.reusable).toBe(true);
  });

  test.each([
    ['in one packet with the answer', []],
    ['in a packet each', [30, 60, 90]],
  ])('interim answers %s are skipped', async (_, cuts) => {
    const body = bytes(10);
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n';
    const whole = Buffer.concat([Buffer.from(interim), response(body)]);
    const connection = await stage.connect((socket) => void sendCut(socket, whole, cuts));
    expect((await get(connection, 10)).equals(body)).toBe(true);
    expect((await get(connection, 10)).equals(body)).toBe(true);
  });

  test('surplus bytes in the same packet are refused', async () => {
    const whole = Buffer.concat([response(bytes(10)), Buffer.from('x')]);
    const connection = await stage.connect((socket) => socket.write(whole));
    await expect(get(connection, 10)).rejects.toMatchObject({ code: 'wrong-length' });
    expect(connection.reusable).toBe(false);
  });

  test('surplus bytes that come later end the connection', async () => {
    const body = bytes(10);
    const connection = await stage.connect((socket) => {
      void sendCut(socket, Buffer.concat([response(body), Buffer.from('surplus')]), [50, 52]);
    });
    const closed = gone(connection);
    // The announced bytes are right; no request may follow the surplus bytes.
    await get(connection, 10).catch((error) => expect(error.code).toBe('wrong-length'));
    await closed;
    expect(connection.reusable).toBe(false);
  });

  test.each([
    ['not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 206 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a head without end', `HTTP/1.1 206 OK\r\n${`X: ${'x'.repeat(100)}\r\n`.repeat(700)}`],
    ['a line without end', 'x'.repeat(40_000)],
  ])('%s is refused, and the connection closed', async (_, sent) => {
    const connection = await stage.connect((socket) => socket.write(sent));
    const closed = gone(connection);
    await expect(connection.request(REQUEST)).rejects.toMatchObject({
      code: 'malformed-response',
    });
    await closed;
  });

  test('a long head is read', async () => {
    const body = bytes(10);
    const whole = response(body, `X: ${'x'.repeat(31_000)}`);
    const connection = await stage.connect(
      (socket) => void sendCut(socket, whole, [20_000, 31_000]),
    );
    expect((await get(connection, 10)).equals(body)).toBe(true);
    expect((await get(connection, 10)).equals(body)).toBe(true);
  });

  test('a body of another length than expected is refused before it is read', async () => {
    const connection = await stage.connect((socket) => socket.write(response(bytes(5))));
    await expect(get(connection, 6)).rejects.toMatchObject({ code: 'wrong-length' });
    expect(connection.reusable).toBe(false);
  });

  test.each([
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n', 'other', false],
    ['without length', 'X: y\r\n\r\nabc', 'other', false],
    ['of no bytes', 'Content-Length: 0\r\n\r\n', 'length', true],
    ['of no bytes with some behind it', 'Content-Length: 0\r\n\r\nabc', 'length', false],
    ['of some bytes', 'Content-Length: 3\r\n\r\nabc', 'length', false],
  ])('a body %s can be discarded', async (_, rest, kind, reusable) => {
    const connection = await stage.connect((socket) => socket.write(`HTTP/1.1 206 OK\r\n${rest}`));
    expect((await connection.request(REQUEST)).framing.kind).toBe(kind);
    if (kind === 'other')
      await expect(connection.readInto(Buffer.alloc(3), () => {})).rejects.toThrow();
    connection.discard();
    expect(connection.reusable).toBe(reusable);
  });
});
