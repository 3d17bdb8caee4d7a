import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { SilenceTimer } from './silence-timer.ts';

/** Keeps this process from running anything else. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('what came while the process was kept waiting is heard before anybody is blamed', async () => {
  const server = createServer((socket) => void socket.write('here'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  const told: string[] = [];
  const ended = new Promise<void>((resolve) => {
    const timer = new SilenceTimer(20, () => {
      told.push('silent');
      resolve();
    });
    socket.once('data', () => {
      told.push('heard');
      timer.stop();
      resolve();
    });
    // From now on the bytes are on their way, and the timer is due before they are read.
    server.once('connection', () => block(60));
  });
  await ended;
  expect(told).toEqual(['heard']);
  socket.destroy();
  server.close();
});

test('silence is told of again where a sign of life has begun the time anew, and not once it is over', async () => {
  const told: number[] = [];
  await new Promise<void>((resolve) => {
    const timer = new SilenceTimer(1, () => {
      told.push(told.length);
      if (told.length < 3) return timer.heard();
      timer.stop();
      timer.heard();
      // Longer than it would take to be told once more.
      new SilenceTimer(3, resolve);
    });
  });
  expect(told).toEqual([0, 1, 2]);
});
