import type { Socket } from 'node:dgram';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openLinkSocket } from './link-socket.ts';

let now: number;
let socket: Socket;
let errors: Error[];
let taken: number;

/** Lets a packet arrive. @param flags third byte of its header, 0x84 for an answer */
function arrives(from: string, flags = 0x84, name = '_millrace', bytes = 100): void {
  const packet = Buffer.alloc(bytes);
  packet[2] = flags;
  packet.write(name, 20);
  const { length: size } = packet;
  socket.emit('message', packet, { address: from, family: 'IPv4', port: 5353, size });
}

beforeEach(() => {
  [now, errors, taken] = [0, [], 0];
  socket = openLinkSocket({
    ...{ network: '192.168.1.5/24', wants: 'answers', labels: ['_millrace'] },
    ...{ now: () => now, onError: (error: Error) => errors.push(error) },
  });
  socket.on('message', () => taken++);
});
afterEach(() => {
  socket.close();
});

test('only answers of the link about the service are read', () => {
  arrives('192.168.1.7');
  expect(taken).toBe(1);
  arrives('192.168.2.7'); // another link
  arrives('8.8.8.8');
  arrives('127.0.0.1');
  arrives('192.168.1.7', 0); // a question
  arrives('192.168.1.7', 0x84, '_printer');
  arrives('192.168.1.7', 0x84, '_millrace', 9001);
  expect(taken).toBe(1);
});

test('a flood is dropped before anybody reads it, and packets are read again afterwards', () => {
  for (let i = 0; i < 100_000; i++) arrives('192.168.1.66');
  expect(taken).toBe(100);
  now = 1000;
  for (let i = 0; i < 100_000; i++) arrives('192.168.1.66');
  expect(taken).toBe(120);
});

test('an error of the socket ends nobody else', () => {
  socket.emit('error', new Error('EADDRINUSE'));
  expect(errors).toHaveLength(1);
});
