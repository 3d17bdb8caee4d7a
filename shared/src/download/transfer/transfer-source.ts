/** The state that a download keeps about a source, in the app and in the extension. */

import { type ByteRange, RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Holds } from '../scheduler/holdings.ts';
import type { SourceHealth } from './source-health.ts';

/** An edge that relays the file, the file's own server, or another server that has the file. */
export const SOURCE_KINDS = ['edge', 'origin', 'mirror'] as const;

export type SourceKind = (typeof SOURCE_KINDS)[number];

export abstract class TransferSource {
  abstract readonly kind: SourceKind;
  readonly health: SourceHealth;
  /** Stored bytes that the source gave since it was last shown to keep the contract. */
  readonly unproven = new RangeSet();
  /** Bytes that the source has sent, including unwanted ones. */
  receivedBytes = 0;
  /** When its last bytes of the file came, monotonic milliseconds. */
  heardAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(health: SourceHealth) {
    this.health = health;
  }

  /** Identifies the source within its download. */
  abstract get id(): string;

  /** Host and port of its next request (`URL.host`). */
  abstract get host(): string;

  /** Tells which parts of the file the source has; undefined: the whole file. */
  get holds(): Holds | undefined {
    return undefined;
  }

  /** True once the source has been shown to hold the file. */
  get isAdmitted(): boolean {
    return true;
  }

  /** Notes bytes of the source that have been stored. @param isProven shown to be right already */
  gave(range: ByteRange, isProven = false): void {
    if (!isProven) this.unproven.add(range);
  }

  /** Trusts all bytes given so far, because a whole answer kept the contract. */
  vouch(): void {
    this.health.onServed();
    this.takeUnproven();
  }

  /** Removes and returns the unproven bytes. */
  takeUnproven(): RangeSet {
    const taken = new RangeSet(this.unproven.ranges);
    this.unproven.remove({ start: 0, end: Number.MAX_SAFE_INTEGER });
    return taken;
  }
}
