/**
 * How the processes of one edge pass requests of its depot on. One process has the folder of the
 * depot; the others send it what clients ask, over a socket of the file system in that folder. The
 * socket is for this user alone, and each request names the key that the supervisor has drawn for
 * the processes of this run: whoever can reach the socket but does not have the key is refused.
 */

import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';

/** Fields that a relayed request has besides those of the client, which cannot send them. */
export const RELAY_FIELDS = {
  key: 'millrace-relay-key',
  /** Address of the client, as the process that has its connection knows it. */
  client: 'millrace-relay-client',
} as const;

/** Number of the process that has the folder of the depot. */
export const DEPOT_WORKER = 0;

/**
 * Longest path of a socket that all systems take, bytes: 104 on macOS and BSD, 108 on Linux, with
 * the zero at its end (unix(4), unix(7)).
 */
const MAX_PATH_BYTES = 103;

/**
 * Returns the address of the socket of a depot.
 *
 * @param dir its folder
 * @throws Error if the path of the folder is too long
 */
export function relayPath(dir: string): string {
  if (process.platform !== 'win32') {
    const path = join(dir, 'relay.sock');
    if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
    throw new Error(`${dir} is too long for --depot-dir with --workers: choose a shorter path`);
  }
  // Pipes have names of their own, outside of all folders.
  const name = createHash('sha256').update(resolve(dir).toLowerCase()).digest('hex');
  return `\\\\.\\pipe\\millrace-${name.slice(0, 32)}`;
}

/** Fields of one connection or message (RFC 9110 7.6.1), which a relay never passes on. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'http2-settings', 'proxy-authorization'],
]);

/** Returns the fields that a relay passes on, each as one line. */
export function passedOn(
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const own: readonly string[] = Object.values(RELAY_FIELDS);
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    // Names of HTTP/2's own fields begin with a colon.
    if (value === undefined || name.startsWith(':')) continue;
    if (OF_CONNECTION.has(name) || own.includes(name)) continue;
    passed[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return passed;
}
