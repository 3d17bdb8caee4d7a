/** Lets a socket that was opened elsewhere feed memory, as sockets with `onread` do. */

import type { OnReadOpts, Socket } from 'node:net';

/**
 * Copies what a socket receives into the memory of `onread`. When its callback returns false, the
 * rest waits in the socket, which is paused.
 */
export function feed(socket: Socket, { buffer, callback }: OnReadOpts): void {
  const memory = () => (typeof buffer === 'function' ? buffer() : buffer);
  socket.on('data', (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; ) {
      const room = memory();
      const count = bytes.copy(room, 0, at);
      at += count;
      const goesOn = callback(count, room);
      if (socket.destroyed) return;
      if (goesOn) continue;
      socket.pause();
      if (at < bytes.length) socket.unshift(bytes.subarray(at));
      return;
    }
  });
  // Code that opened the socket may have left it paused.
  socket.resume();
}
