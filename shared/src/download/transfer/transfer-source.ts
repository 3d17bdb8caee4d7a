/** The state that a download keeps about a source, in the app and in the extension. */

import { type ByteRange, RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { SourceKind } from '../request/source-kinds.ts';
import type { Holds } from '../scheduler/holdings.ts';
import { SinceShown } from './since-shown.ts';
import type { SourceHealth } from './source-health.ts';

export abstract class TransferSource {
  abstract readonly kind: SourceKind;
  readonly health: SourceHealth;
  /** Stored bytes that the source gave since it was last shown to keep the contract. */
  readonly unproven = new RangeSet();
  /** True once an answer has named another version of the file. */
  namesOther = false;
  readonly #sinceShown = new SinceShown();
  /** Bytes of the answer that defines the file. */
  readonly #defining = new RangeSet();
  /** Bytes that the source has sent, including unwanted ones. */
  receivedBytes = 0;
  /** When its last bytes of the file came, monotonic milliseconds. */
  heardAt: Millis = Number.NEGATIVE_INFINITY;
  /** When it last brought bytes that were not stored before, monotonic milliseconds. */
  broughtAt: Millis = Number.NEGATIVE_INFINITY;

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

  /** True if the source may soon have parts that it has not now: `holds` alone is not the end. */
  get mayHaveMore(): boolean {
    return false;
  }

  /** Most requests to it at a time, whatever hosts accept; undefined: as many as these. */
  get mostRequests(): number | undefined {
    return undefined;
  }

  /** True once the source has been shown to hold the file. */
  get isAdmitted(): boolean {
    return true;
  }

  /**
   * Notes bytes of the source that have been stored.
   *
   * @param defines true if they are of the answer that defines the file: breaches of the contract
   *   in other answers cast no doubt on them
   */
  gave(range: ByteRange, defines = false): void {
    this.#sinceShown.add(range);
    if (defines) this.#defining.add(range);
    else this.unproven.add(range);
  }

  /** Notes that a request is sent to the source. @returns its number, for `onShown` */
  onAsked(): number {
    return this.#sinceShown.asked();
  }

  /** Notes that the answer to a request is of the version that is being downloaded. */
  onShown(request: number): void {
    this.#sinceShown.shown(request);
  }

  /**
   * Removes and returns the bytes that the source may have given of a later version, which it has
   * by now. Something that names no version, such as a page for people whose link has expired, is
   * no reason to doubt the answer that defines the file.
   */
  takeOverwritten(): RangeSet {
    const taken = this.#sinceShown.take();
    if (!this.namesOther) for (const range of this.#defining.ranges) taken.remove(range);
    return taken;
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
