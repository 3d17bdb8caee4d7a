/**
 * Remembers which version of each file is current, and which files can only be tunnelled. Entries
 * are bounded in bytes, least recently used ones go first. With a disk tier, pointers are kept on
 * disk as well: without them, chunks could be found after a restart only by asking the origin for
 * each file again.
 */

import { ENTRY_BYTES, textBytes } from '@millrace/shared/cdn/admission/memory-weight';
import { LRUCache } from 'lru-cache';
import { sha256 } from '../files/chunk.ts';
import type { ChunkBuffer } from '../files/chunk-memory.ts';
import {
  ownText,
  type Pointer,
  type PointerEntry,
  type Scope,
  scopedKey,
  urlOfPointer,
} from '../files/file-version.ts';
import type { KeptAnswer } from '../files/origin-answer.ts';
import type { DiskCache } from './disk-cache.ts';
import { KeptAnswers } from './kept-answers.ts';
import { Purges } from './purges.ts';
import { pointerBytes } from './weights.ts';

/** Lifetime of the verdict that a file can only be tunnelled. */
export const TUNNEL_VERDICT_MS = 60_000;
/** Memory for pointers by default. */
const DEFAULT_MAX_BYTES = 32 * 1024 * 1024;
/** Share of the memory for files in doubt, of which only the name is remembered. */
const DOUBTED_SHARE = 1 / 16;
/** Share of the memory for answers without a file, which strangers can ask for at will. */
const ANSWERS_SHARE = 1 / 16;
const NOTHING: ChunkBuffer = { data: Buffer.alloc(0), release() {} };

interface Marked {
  readonly entry: PointerEntry;
  /** Generation in which the entry was requested (see `Generations`). */
  readonly generation: number;
}

export class PointerCache {
  readonly #entries: LRUCache<string, Marked>;
  /** Files that turned out to have changed: other nodes' pointers to them are not trusted. */
  readonly #doubted: LRUCache<string, true>;
  readonly #answers: KeptAnswers;
  readonly #disk: DiskCache | undefined;
  readonly #purges: Purges;
  /** Called with each pointer that is learnt to be current. */
  onPointer: (pointer: Pointer) => void = () => {};

  /** @param maxBytes bound on the weight of entries in memory */
  constructor(disk?: DiskCache, purges: Purges = new Purges(), maxBytes = DEFAULT_MAX_BYTES) {
    this.#disk = disk;
    this.#purges = purges;
    this.#entries = new LRUCache({
      maxSize: Math.ceil(maxBytes * (1 - DOUBTED_SHARE - ANSWERS_SHARE)),
      sizeCalculation: ({ entry }, key) => pointerBytes(key, entry),
    });
    this.#doubted = new LRUCache({
      maxSize: Math.ceil(maxBytes * DOUBTED_SHARE),
      sizeCalculation: (_value, key) => ENTRY_BYTES + textBytes(key),
    });
    this.#answers = new KeptAnswers(purges, maxBytes * ANSWERS_SHARE);
  }

  /** Bytes that the entries weigh in memory. */
  get bytes(): number {
    return this.#entries.calculatedSize + this.#doubted.calculatedSize + this.#answers.bytes;
  }

  /** Files known in memory. */
  get count(): number {
    return this.#entries.size;
  }

  /** Looks in memory. */
  get(url: string, scope: Scope): PointerEntry | undefined {
    const marked = this.#entries.get(scopedKey(scope, url));
    if (marked === undefined || !this.#isVoid(url, marked)) return marked?.entry;
    this.#entries.delete(scopedKey(scope, url));
    return undefined;
  }

  /** Looks in memory and on disk. */
  async load(url: string, scope: Scope): Promise<PointerEntry | undefined> {
    const entry = this.get(url, scope);
    if (entry !== undefined || this.#disk === undefined) return entry;
    const record = await this.#disk.get(diskKey(scope, url), 0, () => NOTHING);
    // A newer entry may have been stored meanwhile.
    const newer = this.get(url, scope);
    if (newer !== undefined || record === undefined) return newer;
    const { pointer } = record.meta as { pointer: Pointer };
    const marked = { entry: pointer, generation: this.#purges.readMark(record.meta) };
    if (this.#isVoid(url, marked)) {
      this.#disk.delete(diskKey(scope, url));
      return undefined;
    }
    this.#keep(scopedKey(scope, url), marked);
    return pointer;
  }

  /** @param generation in which the entry was requested: one that was purged since is not kept */
  put(url: string, scope: Scope, entry: PointerEntry, generation = this.#purges.current): void {
    if (this.#isVoid(url, { entry, generation })) return;
    this.#keep(scopedKey(scope, url), { entry, generation });
    this.#answers.drop(url, scope);
    this.#doubted.delete(scopedKey(scope, url));
    if (!isPointer(entry)) this.#disk?.delete(diskKey(scope, url));
    else {
      const { data } = NOTHING;
      const meta = { pointer: entry, mark: this.#purges.diskMark(generation) };
      const key = diskKey(scope, url);
      this.#disk?.put(key, meta, data, () => sha256(data), undefined, pointerBytes(key, entry));
      this.onPointer(entry);
    }
  }

  /** Returns the origin's answer without a file that is kept in place of one, however old it is. */
  answer(name: string, scope: Scope): KeptAnswer | undefined {
    return this.#answers.get(name, scope);
  }

  /** Keeps an answer without a file in place of what is known of the file. */
  putAnswer(name: string, scope: Scope, answer: KeptAnswer, generation: number): void {
    this.drop(name, scope);
    this.#answers.put(name, scope, answer, generation);
  }

  /** Forgets the answer without a file, because the origin has one by now. */
  dropAnswer(name: string, scope: Scope): void {
    this.#answers.drop(name, scope);
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
      this.#doubted.set(ownText(scopedKey(scope, url)), true);
    }
    this.#entries.delete(scopedKey(scope, url));
    this.#answers.drop(url, scope);
    this.#disk?.delete(diskKey(scope, url));
  }

  #keep(key: string, marked: Marked): void {
    const { entry } = marked;
    // Mostly the key is the version's URL, which is in memory already.
    const same = isPointer(entry) && entry.version.url === key;
    this.#entries.set(same ? entry.version.url : ownText(key), marked);
  }

  #isVoid(name: string, { entry, generation }: Marked): boolean {
    const version = isPointer(entry) ? entry.version : undefined;
    if (this.#purges.isVoid(urlOfPointer(name), version?.tag, generation)) return true;
    return version !== undefined && this.#purges.isVoidByLabel(version.fields, generation);
  }
}

/** Tells the two kinds of entry apart. */
export function isPointer(entry: PointerEntry): entry is Pointer {
  return 'version' in entry;
}

/** Returns the key of a file's pointer on disk. */
export function diskKey(scope: Scope, url: string): string {
  return `pointer ${scopedKey(scope, url)}`;
}
