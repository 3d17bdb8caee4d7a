/** Pins as the caches ask for them, kept in a file beside the disk tier. */

import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@millrace/shared/base/log';
import { chunkRange } from '@millrace/shared/cdn/chunk-plan';
import { type Pin, PinLedger } from '@millrace/shared/cdn/pin-ledger';
import { z } from 'zod';
import { chunkKey } from '../cache/chunk-store.ts';
import { recordPath } from '../cache/disk-record.ts';
import type { FileVersion } from '../cache/file-version.ts';
import { diskKey } from '../cache/pointer-cache.ts';
import { ID } from './messages.ts';

const NAME = 'pins.json';
/** Timers cannot wait longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const FILE = z.object({
  format: z.literal(1),
  pins: z.array(
    z.object({
      id: ID,
      url: z.string(),
      bytes: z.number().min(0),
      tag: z.string(),
      length: z.number().min(0),
      proof: z.string(),
      expiresAt: z.number(),
    }),
  ),
});

export interface PinsOptions {
  /** Of the disk tier; undefined: pins last as long as the process, as does the cache in memory. */
  readonly dir: string | undefined;
  readonly chunkBytes: number;
  readonly quotaBytes: number;
  readonly maxLeaseMs: number;
  readonly share: number;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => number;
}

/** What a pin is asked for. */
export type PinRequest = Omit<Pin, 'expiresAt'>;

export class Pins {
  readonly ledger: PinLedger;
  readonly #o: PinsOptions;
  /** Records that are pinned, with how many pins hold each. */
  readonly #paths = new Map<string, number>();
  /** Versions that are pinned: as many pins each. */
  readonly #versions = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  /** Told when something is pinned no longer. */
  onReleased: () => void = () => {};

  private constructor(options: PinsOptions) {
    const { quotaBytes, maxLeaseMs, share } = options;
    this.#o = options;
    this.ledger = new PinLedger({ quotaBytes, maxLeaseMs, share });
  }

  /** Takes up the pins of an earlier run that have not ended. */
  static async open(options: PinsOptions): Promise<Pins> {
    const pins = new Pins(options);
    const { dir, log, wallClock } = options;
    if (dir === undefined) return pins;
    const text = await readFile(join(dir, NAME), 'utf8').catch(() => undefined);
    if (text === undefined) return pins;
    try {
      for (const pin of FILE.parse(JSON.parse(text)).pins) {
        if (pin.expiresAt <= wallClock()) continue;
        pins.ledger.restore(pin);
        pins.#hold(pin, 1);
      }
    } catch (error) {
      log.warn({ err: error, dir }, 'the list of pins is damaged: nothing is pinned');
    }
    pins.#schedule();
    return pins;
  }

  /** True for a version that is pinned. */
  isPinned({ url, tag, scope }: FileVersion): boolean {
    return this.#versions.size > 0 && scope === 'public' && this.#versions.has(`${tag} ${url}`);
  }

  /** True for a record on disk that belongs to a pinned version. */
  isPinnedPath(path: string): boolean {
    return this.#paths.has(path);
  }

  /** @throws MillraceError `pin-refused` */
  async allocate(request: PinRequest, forMs: number): Promise<Pin> {
    const isNew = this.ledger.get(request.id) === undefined;
    const pin = this.ledger.allocate(request, forMs, this.#o.wallClock());
    if (isNew) this.#hold(pin, 1);
    await this.#changed();
    return pin;
  }

  /** @throws MillraceError `no-such-entry`, `pin-refused` */
  async extend(id: string, forMs: number): Promise<Pin> {
    const pin = this.ledger.extend(id, forMs, this.#o.wallClock());
    await this.#changed();
    return pin;
  }

  /** @returns undefined if there is no such pin */
  async release(id: string): Promise<Pin | undefined> {
    const pin = this.ledger.release(id);
    if (pin === undefined) return undefined;
    this.#letGo([pin]);
    await this.#changed();
    return pin;
  }

  /** A version has become current: pins of the file hold that one from now on. */
  follow({ url, scope, tag, length }: FileVersion): void {
    if (scope !== 'public' || this.ledger.count === 0) return;
    const changed = this.ledger.follow(url, tag, length);
    if (changed.length === 0) return;
    for (const { after } of changed) this.#hold(after, 1);
    this.#letGo(changed.map(({ before }) => before));
    void this.#changed();
  }

  /** True for whoever was given the pin. */
  holds(id: string, capability: string): boolean {
    const pin = this.ledger.get(id);
    if (pin === undefined) return false;
    return timingSafeEqual(Buffer.from(proofOf(capability)), Buffer.from(pin.proof));
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#turn;
  }

  #letGo(pins: readonly Pin[]): void {
    for (const pin of pins) this.#hold(pin, -1);
    if (pins.length > 0) this.onReleased();
  }

  #hold({ url, tag, length }: Pin, by: 1 | -1): void {
    count(this.#versions, `${tag} ${url}`, by);
    if (this.#o.dir === undefined) return;
    const version: FileVersion = { url, scope: 'public', tag, length, validators: {}, fields: {} };
    count(this.#paths, recordPath(diskKey('public', url)), by);
    const { chunkBytes } = this.#o;
    for (let index = 0; index * chunkBytes < length; index++) {
      const range = chunkRange(index, chunkBytes, length);
      count(this.#paths, recordPath(chunkKey({ version, range })), by);
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const end = this.ledger.nextEnd;
    if (end === undefined) return;
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, end - this.#o.wallClock()));
    this.#timer = setTimeout(() => {
      this.#letGo(this.ledger.expire(this.#o.wallClock()));
      void this.#changed();
    }, wait).unref();
  }

  /** Resolves when the change is on disk. */
  #changed(): Promise<void> {
    this.#schedule();
    this.#turn = this.#turn.then(() =>
      this.#write().catch((error: unknown) =>
        this.#o.log.error({ err: error, dir: this.#o.dir }, 'the list of pins cannot be written'),
      ),
    );
    return this.#turn;
  }

  async #write(): Promise<void> {
    const { dir } = this.#o;
    if (dir === undefined) return;
    const aside = join(dir, `${NAME}.${randomUUID()}`);
    try {
      const file = await open(aside, 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify({ format: 1, pins: this.ledger.pins }));
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(aside, join(dir, NAME));
    } catch (error) {
      await rm(aside, { force: true }).catch(() => {});
      throw error;
    }
  }
}

/** What is kept of a capability. */
export function proofOf(capability: string): string {
  return createHash('sha256').update(capability).digest('hex');
}

function count(counts: Map<string, number>, key: string, by: number): void {
  const left = (counts.get(key) ?? 0) + by;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}
