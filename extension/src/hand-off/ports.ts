/** Ports through which hand-offs reach their surroundings. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Offer, Taker, TakerKind } from '../contract/taker.ts';
import type { BrowserDownload, Discarded, HandOff } from './hand-off.ts';

type Ref = HandOff['download'];

export interface BrowserPort {
  /** Pauses a download if it can be paused. Never fails. */
  pause(download: Ref): Promise<void>;
  look(download: Ref): Promise<BrowserDownload | undefined>;
  /**
   * Resumes a download that is paused or was interrupted.
   *
   * @throws if it should resume, but does not
   */
  resume(download: Ref): Promise<void>;
  /**
   * Cancels a download and removes it from the list with its partial file, unless it is complete.
   */
  end(download: Ref): Promise<void>;
  /** Like `end`, but also removes a complete file. */
  remove(download: Ref): Promise<void>;
}

export interface TakersPort {
  get(kind: TakerKind): Taker;
  /**
   * Removes a committed download, unless its file has to stay.
   *
   * @param kept path of the file that the browser has, or may have: it is not deleted
   * @throws TakerError
   */
  discard(kind: TakerKind, takenAs: string, kept: string | undefined): Promise<Discarded>;
}

/** Storage that outlives the background. */
export interface StorePort {
  load(): Promise<readonly HandOff[]>;
  put(handOff: HandOff): Promise<void>;
  remove(id: string): Promise<void>;
  /**
   * Stores an offer while the browser runs: offers contain cookies, which must not reach the disk.
   */
  putOffer(offer: Offer): Promise<void>;
  offer(id: string): Promise<Offer | undefined>;
}

export interface ClockPort {
  now(): Millis;
  /** Has `tick` called at a time; undefined: not needed. */
  wakeAt(at: Millis | undefined): void;
}

export interface Ports {
  readonly browser: BrowserPort;
  readonly takers: TakersPort;
  readonly store: StorePort;
  readonly clock: ClockPort;
  /** Called when a hand-off is over. */
  onOver(handOff: HandOff, taken: boolean): void;
}
