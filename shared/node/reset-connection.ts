/**
 * Resets connections. Node's own `resetAndDestroy` must not be called while a connection is being
 * shut down: the system call is refused (EINVAL), the descriptor stays open for ever without a
 * `close` event, and a process that ends with such a connection turns in circles instead.
 */

import { Socket } from 'node:net';

/**
 * Resets a connection: unlike a FIN, no client's HTTP library takes a reset for the end of a body.
 * A connection whose last bytes are just being followed by a FIN is reset right after it.
 *
 * @param socket may have TLS, and may be closed already
 */
export function resetConnection(socket: Socket | null | undefined): void {
  if (socket === null || socket === undefined) return;
  const bottom = bottomSocket(socket);
  const reset = () => {
    if ('resetAndDestroy' in bottom) bottom.resetAndDestroy();
    if (bottom !== socket || !('resetAndDestroy' in bottom)) socket.destroy();
  };
  // TLS passes its own end on to the connection below, which does not know that it has ended.
  const ending = [socket, bottom].find(isShuttingDown);
  if (ending === undefined) reset();
  else ending.once('finish', reset);
}

/**
 * Returns the connection below TLS, which can be reset; the connection itself without TLS. Node has
 * no public API for it.
 */
export function bottomSocket(socket: Socket): Socket {
  const below = (socket as { _parent?: unknown })._parent;
  return below instanceof Socket ? below : socket;
}

/** Returns true between the last written byte and the end of the shutdown that follows it. */
function isShuttingDown(socket: Socket): boolean {
  const { destroyed, writableEnded, writableLength, writableFinished } = socket;
  return !destroyed && writableEnded && writableLength === 0 && !writableFinished;
}
