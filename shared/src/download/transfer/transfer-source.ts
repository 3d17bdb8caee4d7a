/** A source of a file as its download knows it, whichever way its bytes are asked for. */

import { type ByteRange, RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Holds } from '../scheduler/holdings.ts';
import type { SourceHealth } from './source-health.ts';

/** An edge that relays the file, the file's own server, or another server that has it. */
export type SourceKind = 'edge' | 'origin' | 'mirror';

export abstract class TransferSource {
  abstract readonly kind: SourceKind;
  readonly health: SourceHealth;
  /** Stored bytes that it gave since it was last shown to keep the contract. */
  readonly unproven = new RangeSet();
  /** Bytes that it has sent, including unwanted ones. */
  receivedBytes = 0;
  /** When bytes of the file came last, monotonic milliseconds. */
  heardAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(health: SourceHealth) {
    this.health = health;
  }

  /** Tells it from all others of the download. */
  abstract get id(): string;

  /** Host and port that its next request goes to (`URL.host`). */
  abstract get host(): string;

  /** Tells which parts of the file it has; undefined: it has all of it. */
  get holds(): Holds | undefined {
    return undefined;
  }

  /** True once the source has been shown to hold the file. */
  get isAdmitted(): boolean {
    return true;
  }

  /** Bytes of it have been stored, and nothing vouches for them yet. */
  gave(range: ByteRange): void {
    this.unproven.add(range);
  }

  /** An answer was as it should be from beginning to end. */
  vouch(): void {
    this.health.onServed();
    this.takeUnproven();
  }

  /** The bytes that nothing vouches for; they are no longer counted here. */
  takeUnproven(): RangeSet {
    const taken = new RangeSet(this.unproven.ranges);
    this.unproven.remove({ start: 0, end: Number.MAX_SAFE_INTEGER });
    return taken;
  }
}
