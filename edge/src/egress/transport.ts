/** Two ways to the same origins: a general client, and the narrow one for ranges. */

import type { LookupFunction } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import type { ClientTls } from '@millrace/shared/node/open-socket';
import { RangeClient } from '@millrace/shared/node/range-client';
import { OriginAgents } from './origin-agents.ts';

export interface TransportOptions {
  /** Connections to one origin at a time. */
  readonly connections: number;
  /** Longest time for an origin to connect, to answer, and to send nothing, milliseconds. */
  readonly timeoutMs: number;
  /** Returns certificates for connections to an origin. */
  readonly tls?: ((url: URL) => ClientTls | undefined) | undefined;
}

export interface Transport {
  readonly agents: OriginAgents;
  readonly ranges: RangeClient;
}

const MAX_CONNECT_MS = 10_000;
/** Longest time that an idle connection is kept, whatever the origin's Keep-Alive field allows. */
export const KEEP_ALIVE_MS: Millis = 30_000;

/** Makes the clients, without a connection. @param lookup finds addresses; undefined: the system */
export function openTransport(
  { timeoutMs, connections, tls }: TransportOptions,
  lookup: LookupFunction | undefined,
): Transport {
  const connectTimeoutMs = Math.min(timeoutMs, MAX_CONNECT_MS);
  const withLookup = lookup === undefined ? {} : { lookup };
  const agents = new OriginAgents(tls, {
    connections,
    pipelining: 1,
    // The window counts on one connection per chunk in flight.
    allowH2: false,
    connect: { timeout: connectTimeoutMs, ...withLookup },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: 32 * 1024,
  });
  const ranges = new RangeClient({
    connections,
    timeoutMs,
    connectTimeoutMs,
    headTimeoutMs: timeoutMs,
    ...(tls === undefined ? {} : { tls }),
    ...withLookup,
  });
  return { agents, ranges };
}
