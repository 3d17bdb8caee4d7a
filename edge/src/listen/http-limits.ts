/** Limits of size, number and time for one HTTP connection of a client. */

import type { Millis } from '@millrace/shared/base/clock';

/** Most connections that wait to be accepted; the kernel caps it at net.core.somaxconn. */
export const LISTEN_BACKLOG = 4096;
/** Longest header of a request. */
export const MAX_HEADER_BYTES = 32 * 1024;
export const HEADERS_MS: Millis = 15_000;
/** Longest time for the whole of a request. */
export const REQUEST_MS: Millis = 20_000;
export const KEEP_ALIVE_MS: Millis = 30_000;
export const HANDSHAKE_MS: Millis = 15_000;
/** Interval between checks of these times. */
const TIMEOUT_CHECK_MS: Millis = 5000;
/** Limits of HTTP/1.1, as options of Node's servers. */
export const H1_LIMITS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
} as const;

/** Most streams of one HTTP/2 connection at a time; the limits per client hold as well. */
export const H2_STREAMS = 100;
/** Time without a stream after which an HTTP/2 connection ends. */
export const H2_IDLE_MS = KEEP_ALIVE_MS;
/** Most streams that a client may reset, at once and per second. Players that seek reset some. */
export const H2_RESET_BURST = 200;
export const H2_RESETS_PER_SECOND = 20;
export const H2_INVALID_FRAMES = 100;
/** Memory of a connection besides chunks, in units of 10^6 bytes: header tables, queued frames. */
export const H2_MEMORY_MB = 64;
