/**
 * Pins as the caches see them: those that this process holds, and those of the network, which it
 * holds as far as it has room.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { isLeased, type NetworkPin, NetworkPins } from '@millrace/shared/cdn/upkeep/network-pins';
import { type Pin, PinLedger } from '@millrace/shared/cdn/upkeep/pin-ledger';
import * as z from 'zod';
import { chunkKey } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import { proves } from '../policy/proofs.ts';
import { NETWORK_PIN, PIN } from './commands.ts';
import { recordPath } from './disk-record.ts';
import { KeptFile } from './kept-file.ts';
import { diskKey } from './pointer-cache.ts';

/** Longest wait of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The file of pins. */
export const PIN_FILE = z.object({
  format: z.literal(1),
  /** Pins of this process. */
  pins: z.array(PIN),
  /** Pins of the network. */
  network: z.array(NETWORK_PIN).default([]),
});

export interface PinsOptions {
  /** Folder of the disk tier; undefined: pins last as long as the process and its memory cache. */
  readonly dir: string | undefined;
  readonly chunkBytes: number;
  readonly quotaBytes: number;
  readonly maxLeaseMs: number;
  readonly share: number;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => number;
}

/** Contents of a request for a pin. */
export type PinRequest = Omit<Pin, 'expiresAt'>;

export class Pins {
  readonly ledger: PinLedger;
  readonly #options: PinsOptions;
  readonly #network = new NetworkPins();
  readonly #file: KeptFile<typeof PIN_FILE> | undefined;
  /** Pinned records on disk, with the number of pins that hold each. */
  readonly #paths = new Map<string, number>();
  /** Pinned versions, with the number of pins that hold each. */
  readonly #versions = new Map<string, number>();
  /** Pins of the network that there was no room for, logged once each. */
  readonly #refused = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** Called when versions or records may no longer be pinned. */
  onReleased: () => void = () => {};

  private constructor(options: PinsOptions) {
    const { dir, log, quotaBytes, maxLeaseMs, share } = options;
    this.#options = options;
    if (dir !== undefined) {
      this.#file = new KeptFile({ dir, name: 'pins.json', schema: PIN_FILE, log });
    }
    this.ledger = new PinLedger({ quotaBytes, maxLeaseMs, share });
  }

  /** Restores the pins of an earlier run that have not ended. */
  static async open(options: PinsOptions): Promise<Pins> {
    const pins = new Pins(options);
    const kept = await pins.#file?.read();
    if (kept === undefined) return pins;
    const now = options.wallClock();
    for (const pin of kept.pins) {
      if (pin.expiresAt <= now) continue;
      pins.ledger.restore(pin);
      pins.#hold(pin, 1);
    }
    pins.#network.merge(kept.network, now);
    pins.#schedule();
    return pins;
  }

  /** Returns true for a version that is pinned. */
  isPinned({ url, tag, scope }: FileVersion): boolean {
    return this.#versions.size > 0 && scope === 'public' && this.#versions.has(`${tag} ${url}`);
  }

  /** Returns true for a record on disk that belongs to a pinned version. */
  isPinnedPath(path: string): boolean {
    return this.#paths.has(path);
  }

  /** Finds a pin that is held here, or one of the network. @throws MillraceError `no-such-entry` */
  find(id: string): Pin {
    const pin = this.ledger.get(id) ?? this.#ofNetwork(id);
    if (pin === undefined) throw new MillraceError('no-such-entry', `no pin ${id}`);
    return pin;
  }

  /** Pins held here, and those of the network without room here. */
  get all(): readonly Pin[] {
    return [...this.ledger.pins, ...this.#missing()];
  }

  /**
   * Returns true for a pin of the network, which is extended and released at all nodes together.
   */
  isOfNetwork(id: string): boolean {
    return this.#ofNetwork(id) !== undefined;
  }

  /** Time stamp for a change of a network pin that is requested now, Unix milliseconds. */
  stamp(id: string): number {
    return this.#network.stamp(id, this.#options.wallClock());
  }

  /**
   * Pins a file, or extends the pin of that id.
   *
   * @param at time of the request, Unix milliseconds, if it is for the network
   * @throws MillraceError `pin-refused`; `no-such-entry` if the pin has been released since
   */
  async allocate(request: PinRequest, forMs: number, at?: number): Promise<Pin> {
    if (at !== undefined && at < (this.#network.get(request.id)?.at ?? 0)) {
      // The command is repeated to a restarted process: the pin may have ended elsewhere by now.
      this.#takeUp();
      await this.#changed();
      return this.find(request.id);
    }
    const isNew = this.ledger.get(request.id) === undefined;
    const pin = this.ledger.allocate(request, forMs, this.#options.wallClock(), at);
    if (isNew) this.#hold(pin, 1);
    if (at !== undefined) this.#tell(pin, at);
    await this.#changed();
    return pin;
  }

  /**
   * Changes the end of a pin.
   *
   * @param at as in `allocate`
   * @throws MillraceError `no-such-entry`, `pin-refused`
   */
  async extend(id: string, forMs: number, at?: number): Promise<void> {
    const known = this.find(id);
    const now = this.#options.wallClock();
    const isHeld = this.ledger.get(id) !== undefined;
    if (isHeld) this.#tell(this.ledger.extend(id, forMs, now, at), at);
    else this.#tell({ ...known, expiresAt: this.ledger.endOf(forMs, at ?? now) }, at);
    this.#takeUp();
    await this.#changed();
  }

  /**
   * Ends a pin, if there is one.
   *
   * @param at as in `allocate`
   */
  async release(id: string, at?: number): Promise<void> {
    const pin = this.ledger.get(id) ?? this.#ofNetwork(id);
    if (pin === undefined) return;
    this.#tell({ ...pin, expiresAt: at ?? 0 }, at, pin.expiresAt);
    const held = this.ledger.release(id);
    if (held !== undefined) this.#letGo([held]);
    await this.#changed();
  }

  /** The network's pins as this node tells them, with the versions that it knows. */
  get shared(): { readonly pins: readonly NetworkPin[] } {
    const pins = this.#network.pins.map((pin) => {
      const held = this.ledger.get(pin.id);
      return held === undefined ? pin : { ...pin, tag: held.tag, length: held.length };
    });
    return { pins };
  }

  /** Digest of the network's pins: the same at nodes that remember the same pins. */
  get digest(): string {
    return this.#network.digest(this.#options.wallClock());
  }

  /** Merges the pins that another node remembers. @returns number of pins made or changed */
  async learn(pins: readonly NetworkPin[]): Promise<number> {
    const now = this.#options.wallClock();
    const changed = this.#network.merge(pins, now);
    const over: Pin[] = [];
    for (const pin of changed) {
      const held = this.ledger.get(pin.id);
      if (held === undefined) continue;
      if (isLeased(pin, now)) this.#learnLease(pin, now);
      else {
        this.ledger.release(pin.id);
        over.push(held);
      }
    }
    this.#letGo(over);
    this.#takeUp();
    if (changed.length > 0) await this.#changed();
    return changed.length;
  }

  /** Moves the pins of a file to the version that has become current, if it fits. */
  follow({ url, scope, tag, length }: FileVersion): void {
    if (scope !== 'public' || this.ledger.count === 0) return;
    const changed = this.ledger.follow(url, tag, length);
    if (changed.length === 0) return;
    for (const { after } of changed) this.#hold(after, 1);
    this.#letGo(changed.map(({ before }) => before));
    void this.#changed();
  }

  /** Returns true if a capability is that of the pin. */
  holds(id: string, capability: string): boolean {
    const pin = this.ledger.get(id) ?? this.#ofNetwork(id);
    return proves(capability, pin?.proof);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#file?.close();
  }

  #ofNetwork(id: string): NetworkPin | undefined {
    const pin = this.#network.get(id);
    return pin !== undefined && isLeased(pin, this.#options.wallClock()) ? pin : undefined;
  }

  /** Returns the network's pins that this process does not hold. */
  #missing(): NetworkPin[] {
    const now = this.#options.wallClock();
    return this.#network.pins.filter(
      (pin) => isLeased(pin, now) && this.ledger.get(pin.id) === undefined,
    );
  }

  /** Remembers a change of a network pin for the other nodes; without `at` it is not one. */
  #tell(pin: Pin, at: number | undefined, until = pin.expiresAt): void {
    if (at === undefined) return;
    const { id, url, bytes, tag, length, proof, expiresAt } = pin;
    const told = { id, url, bytes, tag, length, proof, expiresAt, at, until };
    this.#network.merge([told], this.#options.wallClock());
  }

  /** Takes over the changed lease of a pin that is held here. */
  #learnLease({ id, url, at, expiresAt }: NetworkPin, now: number): void {
    try {
      this.ledger.extend(id, expiresAt - at, now, at);
    } catch (error) {
      this.#options.log.warn(
        { err: error, id, url },
        'a pin of the network cannot be extended here: it ends earlier',
      );
    }
  }

  /** Holds the network's missing pins, as far as the quota goes. */
  #takeUp(): void {
    for (const { at, until, expiresAt, ...pin } of this.#missing()) {
      try {
        const added = this.ledger.allocate(pin, expiresAt - at, this.#options.wallClock(), at);
        this.#refused.delete(pin.id);
        this.#hold(added, 1);
      } catch (error) {
        if (!this.#refused.has(pin.id)) {
          const { id, url } = pin;
          this.#options.log.warn({ err: error, id, url }, 'a pin of the network is not held here');
        }
        this.#refused.add(pin.id);
      }
    }
    for (const id of this.#refused) if (!this.isOfNetwork(id)) this.#refused.delete(id);
  }

  #letGo(pins: readonly Pin[]): void {
    for (const pin of pins) this.#hold(pin, -1);
    if (pins.length === 0) return;
    // There may be room now for pins that had none.
    this.#takeUp();
    this.onReleased();
  }

  #hold({ url, tag, length }: Pin, by: 1 | -1): void {
    count(this.#versions, `${tag} ${url}`, by);
    if (this.#options.dir === undefined) return;
    const version: FileVersion = { url, scope: 'public', tag, length, validators: {}, fields: {} };
    count(this.#paths, recordPath(diskKey('public', url)), by);
    const { chunkBytes } = this.#options;
    for (let index = 0; index * chunkBytes < length; index++) {
      const range = chunkRange(index, chunkBytes, length);
      count(this.#paths, recordPath(chunkKey({ version, range })), by);
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const end = this.ledger.nextEnd;
    if (end === undefined) return;
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, end - this.#options.wallClock()));
    this.#timer = setTimeout(() => {
      this.#letGo(this.ledger.expire(this.#options.wallClock()));
      void this.#changed();
    }, wait).unref();
  }

  /** Resolves when the change is on disk. */
  async #changed(): Promise<void> {
    this.#schedule();
    await this.#file?.write(() => ({
      format: 1,
      pins: [...this.ledger.pins],
      network: [...this.#network.pins],
    }));
  }
}

function count(counts: Map<string, number>, key: string, by: number): void {
  const left = (counts.get(key) ?? 0) + by;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}
