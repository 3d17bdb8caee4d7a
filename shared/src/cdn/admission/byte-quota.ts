/**
 * Quotas of bytes per span of time, by name. Spans begin at the same moments for all names. Pure
 * except for what it remembers, which is bounded.
 */

import type { Millis } from '../../base/clock.ts';

/** Use of one quota so far. */
export interface QuotaUse {
  readonly name: string;
  /** Number of the span since 1970, and its length in milliseconds. */
  readonly span: number;
  readonly per: Millis;
  readonly bytes: number;
}

/** Most names remembered; the ones used longest ago are forgotten first. */
const MAX_NAMES = 10_000;
const MAX_NAME_CHARS = 300;

export class ByteQuotas {
  /** Uses by name, in the order of the latest use. */
  readonly #used = new Map<string, QuotaUse>();

  /**
   * Returns the milliseconds until some of a quota is left; 0: some is left now.
   *
   * @param limit bytes per span
   * @param per length of a span, milliseconds
   * @param now Unix milliseconds
   */
  waitMs(name: string, limit: number, per: Millis, now: Millis): Millis {
    const used = this.#current(name, per, now)?.bytes ?? 0;
    return used < limit ? 0 : Math.max(1, (Math.floor(now / per) + 1) * per - now);
  }

  /** Counts bytes. */
  take(name: string, bytes: number, per: Millis, now: Millis): void {
    const before = this.#current(name, per, now)?.bytes ?? 0;
    this.#used.delete(name);
    this.#used.set(name, { name, per, span: Math.floor(now / per), bytes: before + bytes });
    if (this.#used.size <= MAX_NAMES) return;
    const [oldest] = this.#used.keys();
    if (oldest !== undefined) this.#used.delete(oldest);
  }

  /** State to keep over a restart. */
  save(now: Millis): QuotaUse[] {
    return [...this.#used.values()].filter(({ span, per }) => span === Math.floor(now / per));
  }

  /** Restores saved state; entries that are malformed are left out. */
  restore(saved: unknown): void {
    if (!Array.isArray(saved)) return;
    for (const use of saved.slice(0, MAX_NAMES)) if (isUse(use)) this.#used.set(use.name, use);
  }

  #current(name: string, per: Millis, now: Millis): QuotaUse | undefined {
    const use = this.#used.get(name);
    return use?.per === per && use.span === Math.floor(now / per) ? use : undefined;
  }
}

function isUse(value: unknown): value is QuotaUse {
  if (typeof value !== 'object' || value === null) return false;
  const { name, span, per, bytes } = value as Partial<Record<keyof QuotaUse, unknown>>;
  const figures = [span, per, bytes].every((n) => Number.isSafeInteger(n) && (n as number) >= 0);
  return typeof name === 'string' && name.length <= MAX_NAME_CHARS && figures;
}
