import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { SilenceTimer } from './silence-timer.ts';

/** Blocks this process. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('bytes that came while the process was blocked are read before silence is reported', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[other]] = await Promise.all([accepted, once(socket, 'connect')]);
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
    // The kernel has the bytes at once, and the timer is due before they can be read.
    other.write('here');
    block(60);
  });
  await ended;
  expect(told).toEqual(['heard']);
  socket.destroy();
  other.destroy();
  server.close();
});

test('silence is reported again after a sign of life has restarted the timer, but not after stop', async () => {
  const told: number[] = [];
  await new Promise<void>((resolve) => {
    const timer = new SilenceTimer(1, () => {
      told.push(told.length);
      if (told.length < 3) return timer.heard();
      timer.stop();
      timer.heard();
      // Wait longer than another report would take.
      new SilenceTimer(3, resolve);
    });
  });
  expect(told).toEqual([0, 1, 2]);
});
