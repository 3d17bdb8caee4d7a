/**
 * Origins and files that single nodes refuse by their policy. Such a node is avoided for what it
 * refuses, and stays a peer for everything else: nothing is wrong with it.
 */

import type { Millis } from '../../base/clock.ts';
import type { MillraceError } from '../../base/errors.ts';

/** How long a refusal is remembered: policies change, and a question costs little. */
export const REFUSAL_MS = 10 * 60_000;
/** Most refusals remembered; clients can ask for any number of origins and files. */
export const MAX_REFUSALS = 5000;

export class PolicyRefusals {
  /** Nodes by what they refuse, and until when each is avoided, oldest refusal first. */
  readonly #refusals = new Map<string, { refused: string; node: string; until: Millis }>();
  readonly #byRefused = new Map<string, Set<string>>();

  /**
   * A node has answered a request for a file with an error.
   *
   * @param url of the file
   * @returns false if the error is no refusal by policy, and nothing is remembered
   */
  onError(node: string, url: string, { row, detail }: MillraceError, now: Millis): boolean {
    if (row.refuses === undefined) return false;
    const { origin, host, hostname } = new URL(url);
    // Otherwise the node refuses what the origin redirects to. Anybody can aim an open redirect at a
    // private address: nodes must not leave each other alone for the whole origin.
    const isItself = detail === host || detail === hostname;
    const refused = row.refuses === 'origin' && isItself ? origin : url;
    const key = `${refused} ${node}`;
    this.#refusals.delete(key);
    this.#refusals.set(key, { refused, node, until: now + REFUSAL_MS });
    const nodes = this.#byRefused.get(refused) ?? new Set();
    this.#byRefused.set(refused, nodes.add(node));
    this.#forget(now);
    return true;
  }

  /** Returns the names of the nodes to avoid for a file. */
  nodes(url: string, now: Millis): string[] {
    this.#forget(now);
    // Asked for each chunk, and nearly always there are none.
    if (this.#byRefused.size === 0) return [];
    const refused = [new URL(url).origin, url];
    return refused.flatMap((it) => [...(this.#byRefused.get(it) ?? [])]);
  }

  #forget(now: Millis): void {
    for (const [key, { refused, node, until }] of this.#refusals) {
      if (until > now && this.#refusals.size <= MAX_REFUSALS) return;
      this.#refusals.delete(key);
      const nodes = this.#byRefused.get(refused);
      nodes?.delete(node);
      if (nodes?.size === 0) this.#byRefused.delete(refused);
    }
  }
}
