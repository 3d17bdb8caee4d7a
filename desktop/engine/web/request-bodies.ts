/**
 * Reads the bodies of requests. The token of aria2's clients is in the body: a sender is known only
 * when all of it has been read, so all bodies together have a limit as well.
 */

import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  /** Bytes of one body. */
  readonly one: number;
  /** Bytes of all bodies that are being read, at least `one`. */
  readonly all: number;
}

/** too-long: the body alone; too-many: together with the others being read. */
export type Body = { readonly text: string } | { readonly refused: 'too-long' | 'too-many' };

export class RequestBodies {
  readonly #limits: BodyLimits;
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Never rejects: for a client that goes away, the result is the part it has sent. */
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
      // The client has gone: the part is no request.
    } finally {
      this.#bytes -= bytes;
    }
    return { text: Buffer.concat(pieces).toString('utf8') };
  }
}
