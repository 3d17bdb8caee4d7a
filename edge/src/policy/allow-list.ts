/**
 * Decides which origins an edge serves (NSDI 6.4; LOGIN, "Can I use it now?"): none by default, so
 * that nobody can shift their bandwidth to it or use it to look into the operator's network.
 *
 * Only an entry that names a host or address literally lets private addresses through.
 */

import { OriginPattern } from './origin-pattern.ts';

/** The list's verdict on a URL. */
export interface Verdict {
  readonly allowed: boolean;
  /** True when the entry names the host literally: it may be at a private address. */
  readonly privateToo: boolean;
}

export class AllowList {
  /** As the operator has written them. */
  readonly entries: readonly string[];
  readonly #entries: readonly OriginPattern[];

  /** @throws MillraceError `bad-option` naming the entry that cannot be read */
  constructor(entries: readonly string[]) {
    this.entries = entries;
    this.#entries = entries.map((entry) => new OriginPattern(entry));
  }

  /** True when the list is empty. */
  get empty(): boolean {
    return this.#entries.length === 0;
  }

  /** Looks a canonical URL up. */
  check(url: URL): Verdict {
    const matching = this.#entries.filter((entry) => entry.covers(url));
    return {
      allowed: matching.length > 0,
      privateToo: matching.some((entry) => entry.literal),
    };
  }
}
