/** Distinguishes the signed requests of other nodes from those of clients. */

import type { IncomingMessage } from 'node:http';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';

export const HEARTBEAT_PATH = '/-/ping';
/** Path at which a node tells its name, which all other requests to it have to state. */
export const INTRODUCTION_PATH = '/-/introduction';
export const COMMAND_PATH = '/-/command';
export const PURGE_LOG_PATH = '/-/purges';
/** Pins of the network; `/-/pins` is the administrators'. */
export const PINS_PATH = '/-/pinned';
const NODE_PATHS: ReadonlySet<string> = new Set([
  HEARTBEAT_PATH,
  INTRODUCTION_PATH,
  COMMAND_PATH,
  PURGE_LOG_PATH,
  PINS_PATH,
]);

/** Returns true for requests that only other nodes send. */
export function isOfNode({ headers, url = '' }: Pick<IncomingMessage, 'headers' | 'url'>): boolean {
  return headers[INSIDE.mark] !== undefined || isNodePath(url);
}

/** Returns true for paths that only other nodes ask for. */
export function isNodePath(url: string): boolean {
  const query = url.indexOf('?');
  return NODE_PATHS.has(query < 0 ? url : url.slice(0, query));
}
