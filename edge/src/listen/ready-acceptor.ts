/**
 * Accepts several connections per turn of the event loop. libuv accepts one per turn and listening
 * socket. In a busy process, whose turns are long, connections that strangers have made and closed
 * again would stand in the kernel's line before everybody else's.
 */

import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';

/** Listening sockets of one port, and so the most connections accepted per turn. */
const SOCKETS = 16;

/**
 * Begins to listen: on Linux at several sockets of one port (SO_REUSEPORT), among which the kernel
 * deals out the connections by their addresses.
 *
 * @param server gets all connections; it allows half-open ones, as servers of HTTP do
 * @returns a function that takes no more connections
 * @throws Error if the address cannot be listened on, for example because somebody else does
 */
export async function listenReady(server: Server, options: ListenOptions): Promise<() => void> {
  // Node refuses the option on other systems.
  const reusePort = process.platform === 'linux';
  const at = reusePort ? await unused(options) : options;
  const servers = [server];
  for (let more = reusePort ? SOCKETS - 1 : 0; more > 0; more--) {
    servers.push(
      createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
        server.emit('connection', socket),
      ),
    );
  }
  for (const each of servers) {
    each.listen({ ...at, exclusive: true, reusePort });
    await once(each, 'listening');
  }
  return () => {
    for (const each of servers) each.close();
  };
}

/**
 * Chooses the port. Another program of this user that shares its port as well would go unnoticed,
 * and would get some of the connections.
 *
 * @throws Error if somebody listens on the port
 */
async function unused(options: ListenOptions): Promise<ListenOptions> {
  const probe = createServer();
  probe.listen({ ...options, exclusive: true });
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return { ...options, port };
}
