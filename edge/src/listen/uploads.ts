/**
 * Requests whose bodies are files to be stored. The server's own limits on the time and size of
 * bodies do not suit them: whoever takes such a body has limits for it (a least pace, a reservation).
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isDepotTarget } from '@millrace/shared/http/urls/depot-link';

/** Connections of HTTP/1.1 on which such a body is being taken. */
const uploading = new WeakSet<Socket>();

/** Suspends the server's limit on the time of a request. @returns ends the suspension */
export function suspendRequestTimeout(socket: Socket): () => void {
  uploading.add(socket);
  return () => void uploading.delete(socket);
}

/** Returns true while the server's limit on the time of a request is suspended. */
export function isUploading(socket: Socket): boolean {
  return uploading.has(socket);
}

/**
 * Lets those who take such bodies decide when a client that waits for "100 Continue" may send
 * (RFC 9110 10.1.1): it then sends nothing that is refused. All other requests go on as usual.
 *
 * @param take gets every request
 */
export function holdContinue(
  server: Pick<Server, 'on'>,
  take: (req: IncomingMessage, res: ServerResponse) => void,
): void {
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    if (!isDepotTarget(req.url)) res.writeContinue();
    take(req, res);
  });
}
