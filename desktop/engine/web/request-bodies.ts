/**
 * Reads the bodies of requests. The token of aria2's clients is in the body, so a sender is unknown
 * until the whole body has been read. That is why all bodies together have a limit as well.
 */

import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  /** Most bytes of one body. */
  readonly one: number;
  /** Most bytes of all bodies that are being read; at least `one`. */
  readonly all: number;
}

/** too-long: this body alone is over its limit; too-many: all bodies together are. */
export type Body = { readonly text: string } | { readonly refused: 'too-long' | 'too-many' };

export class RequestBodies {
  readonly #limits: BodyLimits;
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Reads a body. Never rejects: if the client disconnects, returns the part that has arrived. */
  async read(req: AsyncIterable<Buffer> | IncomingMessage): Promise<Body> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of req as AsyncIterable<Buffer>) {
        bytes += piece.length;
        this.#bytes += piece.length;
        if (bytes > this.#limits.one) return { refused: 'too-long' };
        if (this.#bytes > this.#limits.all) return { refused: 'too-many' };
        pieces.push(piece);
      }
    } catch {
      // The client disconnected; the part that has arrived is not a valid request.
    } finally {
      this.#bytes -= bytes;
    }
    return { text: Buffer.concat(pieces).toString('utf8') };
  }
}
