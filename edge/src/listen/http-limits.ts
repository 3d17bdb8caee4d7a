/** How much of HTTP one connection of a client may take up, and for how long. */

import type { Millis } from '@millrace/shared/base/clock';

/** Connections that wait to be accepted; the kernel takes its net.core.somaxconn if that is less. */
export const LISTEN_BACKLOG = 4096;
/** Of a request's header. */
export const MAX_HEADER_BYTES = 32 * 1024;
export const HEADERS_MS: Millis = 15_000;
/** For the whole of a request. */
export const REQUEST_MS: Millis = 20_000;
export const KEEP_ALIVE_MS: Millis = 30_000;
export const HANDSHAKE_MS: Millis = 15_000;
/** How often connections are checked for these limits. */
const TIMEOUT_CHECK_MS: Millis = 5000;
/** As Node's servers of HTTP/1.1 take them. */
export const H1_LIMITS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
} as const;

/** Streams of one HTTP/2 connection at a time; the limits per client hold besides. */
export const H2_STREAMS = 100;
/** Time without a stream after which an HTTP/2 connection ends. */
export const H2_IDLE_MS = KEEP_ALIVE_MS;
/** Streams that a client may reset: at once, and in the long run. A player that seeks resets some. */
export const H2_RESET_BURST = 200;
export const H2_RESETS_PER_SECOND = 20;
export const H2_INVALID_FRAMES = 100;
/** Memory of a connection besides chunks, in units of 10^6 bytes: header tables, queued frames. */
export const H2_MEMORY_MB = 64;
