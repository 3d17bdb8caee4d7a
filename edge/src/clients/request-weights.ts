/**
 * Weighs requests under way by what their clients have sent: header fields, and streams of HTTP/2,
 * of which a connection has many. Transfers are weighed besides.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { PROPERTY_BYTES, textBytes } from '@millrace/shared/cdn/admission/memory-weight';
import { STREAM_BYTES } from '../memory/process-weights.ts';
import { streamOf } from './connection.ts';

/**
 * Bytes per character of a field of HTTP/2. Node keeps nghttp2's memory, which is reserved before a
 * text is decoded, for the longest text that its Huffman code can be.
 */
const H2_BYTES_PER_CHARACTER = 1.5;

export class RequestWeights {
  #bytes = 0;

  /** Weight of all requests whose responses have not ended, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Weighs the requests of a server from now on. */
  watch(server: Pick<Server, 'on'>): void {
    server.on('request', (req: IncomingMessage, res: ServerResponse) => {
      const bytes = requestBytes(req, res);
      this.#bytes += bytes;
      res.once('close', () => {
        this.#bytes -= bytes;
      });
    });
  }
}

/** Weighs a request in bytes: its target, its header fields, and its stream of HTTP/2. */
export function requestBytes({ url, rawHeaders }: IncomingMessage, res: ServerResponse): number {
  const isStream = streamOf(res) !== undefined;
  let bytes = 0;
  let characters = 0;
  for (const text of rawHeaders) {
    bytes += PROPERTY_BYTES + textBytes('');
    characters += text.length;
  }
  // The fields of HTTP/2 include the target.
  if (!isStream) return bytes + characters + textBytes(url);
  return bytes + characters * H2_BYTES_PER_CHARACTER + STREAM_BYTES;
}
