/**
 * Windows of uploads by HTTP/2 (RFC 9113 5.2). A client sends 64 KiB at first and then waits for a
 * round trip: 10 Mbit/s at 50 ms. A connection on which an upload was admitted may send further ahead,
 * and its bytes are weighed; those of strangers stay where they are.
 */

import type { ServerResponse } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import { streamOf } from './connection.ts';

/** Bytes that a client may send ahead: at most 400 Mbit/s at 20 ms, and 160 at 50 ms. */
export const WIDE_BYTES = 1024 * 1024;
/** Window of HTTP/2 without any setting. */
const USUAL_BYTES = 65_535;

/** Uploads under way, by their connection. */
const uploads = new WeakMap<ServerHttp2Session, number>();
/** Connections whose streams may be wide. The connection's own window bounds them together. */
const told = new WeakSet<ServerHttp2Session>();
let wide = 0;

/** Bytes that clients may have sent ahead of their uploads, beyond what any connection may. */
export function wideBytes(): number {
  return wide * WIDE_BYTES;
}

/**
 * Lets the client of an upload send further ahead. Does nothing with HTTP/1.1, where the kernel has a
 * window for each connection.
 *
 * @returns narrows the window again once no upload is under way on its connection
 */
export function widenWindow(res: ServerResponse): () => void {
  const session = streamOf(res)?.session as ServerHttp2Session | undefined;
  if (session === undefined || session.destroyed) return () => {};
  const running = uploads.get(session) ?? 0;
  uploads.set(session, running + 1);
  if (running === 0) {
    wide++;
    if (!told.has(session)) session.settings({ initialWindowSize: WIDE_BYTES });
    told.add(session);
    session.setLocalWindowSize(WIDE_BYTES);
  }
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    const left = (uploads.get(session) ?? 1) - 1;
    uploads.set(session, left);
    if (left > 0) return;
    wide--;
    if (!session.destroyed) session.setLocalWindowSize(USUAL_BYTES);
  };
}
