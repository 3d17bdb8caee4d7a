/** Ports of hand-offs to the world. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Offer, Taker, TakerKind } from '../contract/taker.ts';
import type { BrowserDownload, Discarded, HandOff } from './hand-off.ts';

type Ref = HandOff['download'];

export interface BrowserPort {
  /** Pauses it if it can be paused. Never fails. */
  pause(download: Ref): Promise<void>;
  look(download: Ref): Promise<BrowserDownload | undefined>;
  /**
   * Resumes it where it is paused or has broken off. @throws where it should resume, but does not
   */
  resume(download: Ref): Promise<void>;
  /** Cancels it and removes it from the list with its partial file, unless it is complete. */
  end(download: Ref): Promise<void>;
  /** As `end`, but also removes a complete file. */
  remove(download: Ref): Promise<void>;
}

export interface TakersPort {
  get(kind: TakerKind): Taker;
  /**
   * Removes a download that has been committed, unless its file has to stay.
   *
   * @param kept where the browser has, or may have, its own file: that one is not deleted
   * @throws TakerError
   */
  discard(kind: TakerKind, takenAs: string, kept: string | undefined): Promise<Discarded>;
}

/** Storage that outlives the background. */
export interface StorePort {
  load(): Promise<readonly HandOff[]>;
  put(handOff: HandOff): Promise<void>;
  remove(id: string): Promise<void>;
  /** While the browser runs only: offers hold cookies, which are not for the disk. */
  putOffer(offer: Offer): Promise<void>;
  offer(id: string): Promise<Offer | undefined>;
}

export interface ClockPort {
  now(): Millis;
  /** Sees to it that `tick` is called then; undefined: not needed. */
  wakeAt(at: Millis | undefined): void;
}

export interface Ports {
  readonly browser: BrowserPort;
  readonly takers: TakersPort;
  readonly store: StorePort;
  readonly clock: ClockPort;
  /** A hand-off is over. */
  onOver(handOff: HandOff, taken: boolean): void;
}
