/**
 * Parts of messages between nodes, apart from the chunks themselves: names of header fields, the
 * text that is signed, and the bounds on time and replays.
 */

import type { Millis } from '../../base/clock.ts';

/** Request fields of the inside protocol. */
export const INSIDE = {
  /** The paper's mark of a chunk request (NSDI 3.2). */
  mark: 'x-bigfile',
  hops: 'x-millrace-hops',
  via: 'x-millrace-via',
  auth: 'x-millrace-auth',
  /** Name of the node that is asked; without it, any node at the address may answer. */
  to: 'x-millrace-to',
  /** Length of the whole file (NSDI figure 4). */
  fileLength: 'x-filelen',
  /** Nodes that did not answer, which the asked one should leave alone as well. */
  avoid: 'x-millrace-avoid',
  /** In interim answers: how much of the chunk has come so far, bytes. */
  progress: 'x-millrace-progress',
  /** The answering node's load. */
  load: 'x-millrace-load',
  /** Where redirects of the origin led. */
  finalUrl: 'x-millrace-final-url',
  /** `version`: which version is current is wanted, not the chunk. */
  want: 'x-millrace-want',
  /** Purges that cover the requested file, as the asking node knows them. */
  purges: 'x-millrace-purges',
  /** Port that the asking node listens on, so that the asked one can ask back. */
  nodePort: 'x-millrace-port',
  /** Permit of the signed link that a client has come by: it vouches for itself. */
  permit: 'x-millrace-permit',
  /** Address of the asking node, where it differs from the one it connects from. */
  nodeUrl: 'x-millrace-url',
} as const;

/** How far clocks may differ, and how old a request may be. */
export const AUTH_WINDOW_MS = 30_000;
/** Requests remembered against being replayed; when they are more, the oldest window is kept. */
export const MAX_NONCES = 200_000;

export interface Authentication {
  /** Unix milliseconds. */
  readonly at: Millis;
  /** Random, never used twice. */
  readonly nonce: string;
  /** HMAC-SHA-256 in hexadecimal. */
  readonly mac: string;
}

/**
 * The text that a request's HMAC is made of: nothing that matters can be changed under it.
 *
 * @param fields values of the signed fields in a fixed order, empty where absent
 */
export function signedText(
  method: string,
  target: string,
  fields: readonly string[],
  at: Millis,
  nonce: string,
): string {
  // Lengths keep one part from running into the next.
  return [method, target, ...fields, String(at), nonce].map((p) => `${p.length}:${p}`).join('\n');
}

/** Writes the authentication field. */
export function formatAuthentication({ at, nonce, mac }: Authentication): string {
  return `t=${at}, n=${nonce}, h=${mac}`;
}

/** Reads the authentication field; undefined if it is malformed. */
export function parseAuthentication(value: string | undefined): Authentication | undefined {
  const match = /^t=(\d{1,15}), n=([0-9a-f]{32}), h=([0-9a-f]{64})$/.exec(value ?? '');
  if (!match) return undefined;
  return { at: Number(match[1]), nonce: match[2] as string, mac: match[3] as string };
}

/** Remembers the requests seen within the window, so that none is accepted twice. */
export class ReplayGuard {
  readonly #seen = new Map<string, Millis>();

  /**
   * True for a request that is within the window and has not been seen.
   *
   * @param now Unix milliseconds
   */
  accept(at: Millis, nonce: string, now: Millis): boolean {
    if (Math.abs(now - at) > AUTH_WINDOW_MS || this.#seen.has(nonce)) return false;
    this.#forget(now);
    // Too many to remember within the window: refuse rather than let one pass twice.
    if (this.#seen.size >= MAX_NONCES) return false;
    this.#seen.set(nonce, at);
    return true;
  }

  #forget(now: Millis): void {
    // Insertion order is nearly that of time: stop at the first that is still in the window.
    for (const [nonce, at] of this.#seen) {
      if (at >= now - AUTH_WINDOW_MS) break;
      this.#seen.delete(nonce);
    }
  }
}
