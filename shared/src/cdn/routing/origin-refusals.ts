/**
 * Origins that single nodes refuse by their policy. Such a node is avoided for that origin, and
 * stays a peer for all others: nothing is wrong with it.
 */

import type { Millis } from '../../base/clock.ts';
import type { ErrorCode } from '../../base/errors.ts';

/** How long a refusal is remembered: policies change, and a question costs little. */
export const REFUSAL_MS = 10 * 60_000;
/** Most refusals remembered; clients can ask for any number of origins. */
export const MAX_REFUSALS = 5000;

const POLICY_CODES: ReadonlySet<ErrorCode> = new Set(['origin-not-allowed', 'private-address']);

/** Returns true if an error of a node says that it does not serve this origin. */
export function isPolicyRefusal(code: ErrorCode): boolean {
  return POLICY_CODES.has(code);
}

export class OriginRefusals {
  /** Nodes by origin, and until when each is avoided, oldest refusal first. */
  readonly #refusals = new Map<string, { origin: string; node: string; until: Millis }>();
  readonly #byOrigin = new Map<string, Set<string>>();

  /** A node has refused an origin (`https://example.com`). */
  onRefused(node: string, origin: string, now: Millis): void {
    const key = `${origin} ${node}`;
    this.#refusals.delete(key);
    this.#refusals.set(key, { origin, node, until: now + REFUSAL_MS });
    const nodes = this.#byOrigin.get(origin) ?? new Set();
    this.#byOrigin.set(origin, nodes.add(node));
    this.#forget(now);
  }

  /** Nodes to avoid for an origin. */
  nodes(origin: string, now: Millis): ReadonlySet<string> | undefined {
    this.#forget(now);
    return this.#byOrigin.get(origin);
  }

  #forget(now: Millis): void {
    for (const [key, { origin, node, until }] of this.#refusals) {
      if (until > now && this.#refusals.size <= MAX_REFUSALS) return;
      this.#refusals.delete(key);
      const nodes = this.#byOrigin.get(origin);
      nodes?.delete(node);
      if (nodes?.size === 0) this.#byOrigin.delete(origin);
    }
  }
}
