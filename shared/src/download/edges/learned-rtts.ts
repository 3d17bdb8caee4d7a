/** Remembers how far edges are, so that the next download need not measure them again. */

import type { Millis } from '../../base/clock.ts';

/** Most edges remembered; the edge that was measured longest ago is forgotten first. */
const MAX_EDGES = 1000;
/** Age at which a round trip is measured again. */
const MEASURE_AGAIN_MS = 10 * 60_000;
/** Age at which a round trip no longer says anything: the user may be on another line by then. */
const FORGET_AFTER_MS = 3600_000;
/** Part by which a longer round trip moves the remembered one: a single late answer means little. */
const SLOWER_STEP = 1 / 4;

interface Learned {
  readonly ms: Millis;
  readonly at: Millis;
}

export class LearnedRtts {
  /** Round trips by the edge's origin, in the order in which they were measured. */
  readonly #edges = new Map<string, Learned>();

  /** Returns the remembered round trip to an edge; undefined: unknown. @param edge its URL */
  rtt(edge: string, now: Millis): Millis | undefined {
    return this.#get(edge, now)?.ms;
  }

  /** Returns true if the edge has been measured lately. */
  isFresh(edge: string, now: Millis): boolean {
    const learned = this.#get(edge, now);
    return learned !== undefined && now - learned.at <= MEASURE_AGAIN_MS;
  }

  /**
   * Notes a measured round trip. A shorter one counts at once, because only the line makes it; a
   * longer one may be the edge's own delay, and counts for a part.
   */
  onMeasured(edge: string, ms: Millis, now: Millis): void {
    const known = this.#get(edge, now);
    const { origin } = new URL(edge);
    this.#edges.delete(origin);
    const isFaster = known === undefined || ms <= known.ms;
    const value = isFaster ? ms : known.ms + (ms - known.ms) * SLOWER_STEP;
    this.#edges.set(origin, { ms: value, at: now });
    if (this.#edges.size <= MAX_EDGES) return;
    const [oldest] = this.#edges.keys();
    if (oldest !== undefined) this.#edges.delete(oldest);
  }

  #get(edge: string, now: Millis): Learned | undefined {
    const learned = this.#edges.get(new URL(edge).origin);
    const isOld = learned === undefined || now < learned.at || now - learned.at > FORGET_AFTER_MS;
    return isOld ? undefined : learned;
  }
}
