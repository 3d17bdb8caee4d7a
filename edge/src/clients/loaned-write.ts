/**
 * Writes loaned memory to a client, and reports when the memory can be given back. Node does not
 * always call back: once a connection is destroyed, but before its close event, an HTTP/1 response
 * keeps the bytes written to it, and an HTTP/2 response drops them, both silently. Memory that
 * waited for such a callback would be lost for ever.
 */

import type { ServerResponse } from 'node:http';
import { MillraceError } from '@millrace/shared/base/errors';
import { streamOf } from './connection.ts';

/** @param error if the kernel has not taken the bytes for the client */
type WriteEnd = (error?: Error | null) => void;

/** Writes that have not ended, by HTTP/1 response. */
const openWrites = new WeakMap<ServerResponse, Set<WriteEnd>>();

/**
 * Writes to a response.
 *
 * @param bytes not to be changed before the end
 * @param end called exactly once, later, when the bytes are no longer in use
 */
export function writeLoaned(res: ServerResponse, bytes: Buffer, end: WriteEnd): void {
  const stream = streamOf(res);
  if (stream?.destroyed) process.nextTick(end, left());
  // A stream of HTTP/2 calls back in all other cases, and only once the session has sent the bytes.
  else if (stream !== undefined) res.write(bytes, end);
  else {
    const writes = openWrites.get(res) ?? watchWrites(res);
    const once: WriteEnd = (error) => {
      if (writes.delete(once)) end(error);
    };
    writes.add(once);
    res.write(bytes, once);
  }
}

/** Ends all writes of a response that are open when its connection has closed. */
function watchWrites(res: ServerResponse): Set<WriteEnd> {
  const writes = new Set<WriteEnd>();
  openWrites.set(res, writes);
  // The system has released all memory by then. Node's own callbacks come first, with their errors.
  res.once('close', () => {
    setImmediate(() => {
      for (const end of writes) end(left());
    });
  });
  return writes;
}

function left(): MillraceError {
  return new MillraceError('interrupted', 'client left');
}
