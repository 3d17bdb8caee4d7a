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
  /** Name of the asked node; without it, any node at the address. */
  to: 'x-millrace-to',
  /** Length of the whole file (NSDI figure 4). */
  fileLength: 'x-filelen',
  /** Nodes that did not answer, which the asked node should avoid as well. */
  avoid: 'x-millrace-avoid',
  /** In interim answers: bytes of the chunk that have come so far. */
  progress: 'x-millrace-progress',
  /** The answering node's load. */
  load: 'x-millrace-load',
  /** Where redirects of the origin led. */
  finalUrl: 'x-millrace-final-url',
  /**
   * `version`: asks for the current version, not for the chunk. `stream`: asks for what has come of a
   * range of a file that comes in one stream, and waits until something has.
   */
  want: 'x-millrace-want',
  /**
   * In questions for a version: the asking node knows files that came in one stream; with 2, it
   * follows those that still come, and takes the origin's answers without a file.
   */
  streams: 'x-millrace-streams',
  /** Purges that cover the requested chunk, as the asking node knows them. */
  purges: 'x-millrace-purges',
  /** Port that the asking node listens on, so that the asked one can ask back. */
  nodePort: 'x-millrace-port',
  /** Permit of the signed link that the client used; the asked node can verify it. */
  permit: 'x-millrace-permit',
  /**
   * Tag of the client for which the node asks, from which nobody can tell the client. It decides
   * whose request comes next, and nothing else, so it is not signed.
   */
  client: 'x-millrace-client',
  /** Address of the asking node, if its requests come from another one. */
  nodeUrl: 'x-millrace-url',
} as const;

const CLIENT_TAG = /^[0-9a-f]{16}$/;

/** Reads the tag of a client; undefined if it is absent or malformed. */
export function parseClientTag(value: string | undefined): string | undefined {
  return value !== undefined && CLIENT_TAG.test(value) ? value : undefined;
}

/** Greatest difference of clocks, and greatest age of a request. */
export const AUTH_WINDOW_MS = 30_000;
/** Most requests remembered against replays; with more in the window, new ones are refused. */
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
 * Makes the text that a request's HMAC covers, so that nothing that matters can be changed.
 *
 * @param fields values of the signed fields in a fixed order, empty if absent
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

/** Remembers the requests of the window, so that none is accepted twice. */
export class ReplayGuard {
  readonly #seen = new Map<string, Millis>();

  /**
   * Returns true for a request that is within the window and has not been seen.
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
