/** Limits by which a transfer uses its connections. */

/** Silence after which a request no longer counts as one of the connections that are needed. */
export const STILL_MS = 1000;
/** Most sources, beside the first, that bring bytes over connections that are not needed. */
export const OWN_CONNECTIONS = 8;
/** Fewest requests while a reader waits: it jumps, and what it needs then comes soon on several. */
export const FOR_READER = 4;
