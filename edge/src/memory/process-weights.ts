/**
 * Costs of connections and transfers to a process besides the bytes on their way: Node's and our
 * own objects, the HTTP parser, and V8's reserve for them. Measured as growth of resident memory
 * with thousands of them (`npm run bench -- memory`).
 */

const KiB = 1024;

/** An open connection of a client. */
export const CONNECTION_BYTES = 16 * KiB;
/** An open connection of an edge that takes TLS: OpenSSL's state and buffers besides. */
export const TLS_CONNECTION_BYTES = 96 * KiB;
/** A request under way: its objects, timers and strings. */
export const TRANSFER_BYTES = 32 * KiB;
/** An open stream of HTTP/2 with its request, which need not be a transfer, besides its fields. */
export const STREAM_BYTES = 9 * KiB;
/** A tunnel besides: bytes of the origin's answer that were read and not written yet. */
export const TUNNEL_BYTES = 64 * KiB;
/** A client address that limits are kept for. */
export const CLIENT_BYTES = 400;
