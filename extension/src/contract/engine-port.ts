/**
 * Names that the background and the offscreen document agree on. They are apart from protocol.ts,
 * so that the document, which only passes messages on, loads no schemas.
 */

/** Name of the port between the two. */
export const ENGINE_PORT = 'engine';
/** Broadcast of the engine: any background that receives it wakes up and connects. */
export const ENGINE_CALLS = { type: 'engine-calls' } as const;
