/**
 * Which version of each file is current, and which files can only be tunnelled. Small entries,
 * bounded in number; pointers are kept on disk as well where there is a disk tier, or the chunks
 * there could not be found after a restart without asking the origin for each file anew.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { LRUCache } from 'lru-cache';
import { Purges } from '../admin/purges.ts';
import type { Scope } from '../policy/policy.ts';
import { sha256 } from './chunk.ts';
import type { ChunkBuffer } from './chunk-memory.ts';
import type { DiskCache } from './disk-cache.ts';
import { type Pointer, urlOfPointer } from './file-version.ts';

/** An origin's answer that cannot be cut into chunks, remembered so as not to ask twice. */
export interface TunnelVerdict {
  /** One word for Cache-Status: why the file is tunnelled. */
  readonly reason: string;
  readonly until: Millis;
}

/** How long it is taken for granted that a file can only be tunnelled. */
export const TUNNEL_VERDICT_MS = 60_000;
const MAX_POINTERS = 50_000;
const MAX_DOUBTED = 10_000;
const NOTHING: ChunkBuffer = { data: Buffer.alloc(0), release() {} };

export type PointerEntry = Pointer | TunnelVerdict;

interface Marked {
  readonly entry: PointerEntry;
  /** In which it was asked for (see `Generations`). */
  readonly generation: number;
}

export class PointerCache {
  readonly #entries = new LRUCache<string, Marked>({ max: MAX_POINTERS });
  /** Files that turned out to have changed: what others take to be current is not to be trusted. */
  readonly #doubted = new LRUCache<string, true>({ max: MAX_DOUBTED });
  readonly #disk: DiskCache | undefined;
  readonly #purges: Purges;
  /** Told of each version that is learnt to be current. */
  onPointer: (pointer: Pointer) => void = () => {};

  constructor(disk?: DiskCache, purges: Purges = new Purges()) {
    this.#disk = disk;
    this.#purges = purges;
  }

  /** Files known in memory. */
  get count(): number {
    return this.#entries.size;
  }

  /** What is known in memory. */
  get(url: string, scope: Scope): PointerEntry | undefined {
    const marked = this.#entries.get(scopedKey(scope, url));
    if (marked === undefined || !this.#isVoid(url, marked)) return marked?.entry;
    this.#entries.delete(scopedKey(scope, url));
    return undefined;
  }

  /** What is known in memory or on disk. */
  async load(url: string, scope: Scope): Promise<PointerEntry | undefined> {
    const entry = this.get(url, scope);
    if (entry !== undefined || this.#disk === undefined) return entry;
    const record = await this.#disk.get(diskKey(scope, url), 0, () => NOTHING);
    // Somebody may have learnt something newer meanwhile.
    const newer = this.get(url, scope);
    if (newer !== undefined || record === undefined) return newer;
    const { pointer } = record.meta as { pointer: Pointer };
    const marked = { entry: pointer, generation: this.#purges.readMark(record.meta) };
    if (this.#isVoid(url, marked)) {
      this.#disk.delete(diskKey(scope, url));
      return undefined;
    }
    this.#entries.set(scopedKey(scope, url), marked);
    return pointer;
  }

  /** @param generation in which it was asked for: what has been purged since is not kept */
  put(url: string, scope: Scope, entry: PointerEntry, generation = this.#purges.current): void {
    if (this.#isVoid(url, { entry, generation })) return;
    this.#entries.set(scopedKey(scope, url), { entry, generation });
    this.#doubted.delete(scopedKey(scope, url));
    if (!isPointer(entry)) this.#disk?.delete(diskKey(scope, url));
    else {
      const { data } = NOTHING;
      const meta = { pointer: entry, mark: this.#purges.diskMark(generation) };
      this.#disk?.put(diskKey(scope, url), meta, data, () => sha256(data));
      this.onPointer(entry);
    }
  }

  /** True from the moment a version turned out not to be current until the current one is known. */
  isDoubted(url: string, scope: Scope): boolean {
    return this.#doubted.has(scopedKey(scope, url));
  }

  /** Forgets a file; with a tag, only if that version is still taken to be the current one. */
  drop(url: string, scope: Scope, tag?: string): void {
    const entry = this.get(url, scope);
    if (tag !== undefined) {
      if (entry === undefined || !isPointer(entry) || entry.version.tag !== tag) return;
      this.#doubted.set(scopedKey(scope, url), true);
    }
    this.#entries.delete(scopedKey(scope, url));
    this.#disk?.delete(diskKey(scope, url));
  }

  #isVoid(name: string, { entry, generation }: Marked): boolean {
    const tag = isPointer(entry) ? entry.version.tag : undefined;
    return this.#purges.isVoid(urlOfPointer(name), tag, generation);
  }
}

/** Tells the two kinds of entry apart. */
export function isPointer(entry: PointerEntry): entry is Pointer {
  return 'version' in entry;
}

/**
 * The key of a URL or chunk name in caches: private files have keys of their own, so that what the
 * owner of a local edge fetches from their own network answers nobody else.
 */
export function scopedKey(scope: Scope, name: string): string {
  return scope === 'private' ? `private ${name}` : name;
}

/** The key of a file's pointer on disk. */
export function diskKey(scope: Scope, url: string): string {
  return `pointer ${scopedKey(scope, url)}`;
}
