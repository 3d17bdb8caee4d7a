/**
 * The pins that all nodes of a network are to hold, as each node remembers them, so that a node
 * that was away can learn what was pinned, extended or released meanwhile. Two nodes compare
 * digests with their heartbeats; if these differ, one reads the other's pins and merges them.
 *
 * Of two states of one pin the later counts, so nodes agree in whatever order they hear of them. A
 * pin that is released, or cut short, is remembered until all leases that it ever had are over,
 * because a node that was away may still remember one of them. There may be more pins than a node
 * has room for: it then decides by itself which to hold (`pin-ledger.ts`).
 */

import type { Millis } from '../../base/clock.ts';
import type { Pin } from './pin-ledger.ts';
import { combined, digestText, hashItem } from './set-digest.ts';

/** Most pins remembered, released ones included. */
export const MAX_NETWORK_PINS = 2000;
/**
 * Most characters of their URLs and versions together, which one node reads from another at once.
 */
const MAX_NETWORK_PIN_CHARS = 1024 * 1024;

/** A pin as nodes send it to each other. */
export interface NetworkPin extends Pin {
  /**
   * When its lease was last changed, Unix milliseconds of the node that changed it; the lease is
   * `expiresAt - at` long, 0 for a pin that was released.
   */
  readonly at: Millis;
  /** The latest end of any of its leases, Unix milliseconds; it is remembered until then. */
  readonly until: Millis;
}

export class NetworkPins {
  readonly #maxPins: number;
  readonly #maxChars: number;
  #pins = new Map<string, NetworkPin>();
  #digest: string | undefined;
  #nextOver: Millis = Infinity;

  constructor(options: { readonly maxPins?: number; readonly maxChars?: number } = {}) {
    this.#maxPins = options.maxPins ?? MAX_NETWORK_PINS;
    this.#maxChars = options.maxChars ?? MAX_NETWORK_PIN_CHARS;
  }

  /** All pins that are remembered, released ones included. */
  get pins(): readonly NetworkPin[] {
    return [...this.#pins.values()];
  }

  get(id: string): NetworkPin | undefined {
    return this.#pins.get(id);
  }

  /**
   * Equal for two nodes exactly if they remember the same leases (except for a chance of 2^-64).
   * The pinned version is not part of it: nodes find out the current version by themselves.
   *
   * @param now Unix milliseconds
   */
  digest(now: Millis): string {
    if (now >= this.#nextOver) this.#bound(now);
    this.#digest ??= digestText(
      combined(
        this.pins.map(({ id, at, expiresAt, until }) =>
          hashItem(`${id} ${at} ${expiresAt} ${until}`),
        ),
      ),
    );
    return this.#digest;
  }

  /** Returns the time stamp for a change made now, later than all known changes of the pin. */
  stamp(id: string, now: Millis): Millis {
    // Clocks of nodes differ: the last change must not lose to one made a second before.
    return Math.max(now, (this.#pins.get(id)?.at ?? 0) + 1);
  }

  /**
   * Merges pins that were requested here, or that another node remembers.
   *
   * @returns the pins that changed, in their new state
   */
  merge(pins: readonly NetworkPin[], now: Millis): NetworkPin[] {
    const changed = new Set<string>();
    for (const pin of pins) {
      const known = this.#pins.get(pin.id);
      const joined = known === undefined ? pin : join(known, pin);
      if (joined.until <= now || (known !== undefined && isSame(joined, known))) continue;
      this.#pins.set(pin.id, joined);
      changed.add(pin.id);
    }
    if (changed.size > 0) this.#bound(now);
    return this.pins.filter(({ id }) => changed.has(id));
  }

  /**
   * Forgets pins that are over and, if there are too many, those that end first. All nodes choose
   * alike, so that none keeps sending another pins that it has no room for.
   */
  #bound(now: Millis): void {
    const lasting = this.pins.filter(({ until }) => until > now);
    lasting.sort((a, b) => b.until - a.until || (a.id < b.id ? -1 : 1));
    let chars = 0;
    const kept = lasting.slice(0, this.#maxPins).filter(({ url, tag }) => {
      chars += url.length + tag.length;
      return chars <= this.#maxChars;
    });
    this.#pins = new Map(kept.map((pin) => [pin.id, pin]));
    this.#nextOver = kept.at(-1)?.until ?? Infinity;
    this.#digest = undefined;
  }
}

/** Returns true while the lease of a pin lasts. @param now Unix milliseconds */
export function isLeased(
  { at, expiresAt }: Pick<NetworkPin, 'at' | 'expiresAt'>,
  now: Millis,
): boolean {
  // A release at a node whose clock is ahead counts at once as well.
  return expiresAt > now && expiresAt > at;
}

/** Joins two states of one pin; the order does not matter. */
function join(a: NetworkPin, b: NetworkPin): NetworkPin {
  const order = a.at - b.at || a.expiresAt - b.expiresAt;
  return { ...(order >= 0 ? a : b), until: Math.max(a.until, b.until) };
}

function isSame(a: NetworkPin, b: NetworkPin): boolean {
  return a.at === b.at && a.expiresAt === b.expiresAt && a.until === b.until;
}
