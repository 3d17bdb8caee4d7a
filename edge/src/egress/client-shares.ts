/** What one client may take of the requests to origins. */

/** Part of all origins that one client may have requests to at a time. */
const CLIENT_SHARE = 1 / 4;
/** Part of the connections to one origin that tunnels and version requests of one client may take. */
const CLIENT_CONNECTIONS_SHARE = 3 / 4;

/** Returns the most origins that one client may have requests to at a time. */
export function originShare(maxOrigins: number): number {
  return Math.ceil(maxOrigins * CLIENT_SHARE);
}

/** Returns the most tunnels and version requests to one origin that one client may have under way. */
export function originTurns(connections: number): number {
  return Math.ceil(connections * CLIENT_CONNECTIONS_SHARE);
}
