/**
 * Purging in constant time, without a walk through the cache. Each purge begins a new generation,
 * each cache entry carries the generation in which its fetch began, and an entry is void once a
 * later purge covers it. So a fetch that was under way during a purge brings nothing back.
 *
 * The table is bounded. When it is full, the older half of its purges is widened: purges of
 * versions to the file, of files to the folder, of folders to the host, of hosts and labels to
 * everything that was stored before. Nothing purged ever comes back; entries purged in excess are fetched again.
 */

import { ANY_LABEL } from '../../http/fields/labels.ts';
import { withoutDigest } from '../chunks/version-tag.ts';
import { type PurgeTarget, prefixesOf, targetKey, widened } from './purge-target.ts';

/** Most purges that are remembered one by one. */
export const MAX_PURGES = 50_000;
/** Most characters of their targets together. */
export const MAX_PURGE_CHARS = 8 * 1024 * 1024;

/** A purge in the table. */
export interface Purge {
  readonly target: PurgeTarget;
  /** The same on all nodes that have heard of the purge. */
  readonly id: string;
  /** This node's own count; entries of earlier generations are void. */
  readonly generation: number;
}

export class Generations {
  readonly #maxPurges: number;
  readonly #maxChars: number;
  /** By target; oldest generation first. */
  #purges = new Map<string, Purge>();
  #chars = 0;
  #prefixes = 0;
  /** Newest purge of any label. */
  #newestLabel: Purge | undefined;
  #all: Purge | undefined;
  #current = 0;
  /**
   * Ids of recent purges, in two halves, the older of which is dropped as a whole: a purge that is
   * heard of twice is carried out once.
   */
  #seen = new Set<string>();
  #seenBefore = new Set<string>();

  constructor(options: { readonly maxPurges?: number; readonly maxChars?: number } = {}) {
    this.#maxPurges = options.maxPurges ?? MAX_PURGES;
    this.#maxChars = options.maxChars ?? MAX_PURGE_CHARS;
  }

  /** The present generation, with which a fetch that begins now is marked. */
  get current(): number {
    return this.#current;
  }

  /** Number of purges remembered. */
  get count(): number {
    return this.#purges.size + (this.#all === undefined ? 0 : 1);
  }

  /** All purges remembered: first one of everything, if any, then the oldest first. */
  *purges(): Iterable<Purge> {
    if (this.#all !== undefined) yield this.#all;
    yield* this.#purges.values();
  }

  /** Returns true if the purge of that id has been carried out lately. */
  knows(id: string): boolean {
    return this.#seen.has(id) || this.#seenBefore.has(id);
  }

  /**
   * Begins a generation: entries that the target covers and that were stored before are void.
   *
   * @param id a known id changes nothing
   * @returns undefined for a known id
   */
  purge(target: PurgeTarget, id: string): Purge | undefined {
    if (this.knows(id) || this.#purges.get(targetKey(target))?.id === id) return undefined;
    const purge = { target, id, generation: ++this.#current };
    this.restore(purge);
    return purge;
  }

  /** Skips generations up to the given one. */
  advanceTo(generation: number): void {
    this.#current = Math.max(this.#current, generation);
  }

  /** Restores a purge of an earlier run; several in the order of their generations. */
  restore(purge: Purge): void {
    this.advanceTo(purge.generation);
    this.#remember(purge.id);
    this.#put(this.#purges, purge);
    if (this.#purges.size > this.#maxPurges || this.#chars > this.#maxChars) this.#compact();
  }

  /**
   * Returns true if an entry that was stored in a generation has been purged since.
   *
   * @param tag version of the entry, if it has one
   */
  isVoid(url: string, tag: string | undefined, generation: number): boolean {
    return generation < this.#current && generation < this.newest(url, tag);
  }

  /** Generation of the newest purge that covers a file or a version of it; 0 if none does. */
  newest(url: string, tag: string | undefined): number {
    if (this.count === 0) return 0;
    let newest = this.#all?.generation ?? 0;
    for (const key of this.#keysFor(url, tag)) {
      newest = Math.max(newest, this.#purges.get(key)?.generation ?? 0);
    }
    return newest;
  }

  /**
   * Generation of the newest purge that may cover a file whose labels are not known yet; 0 if none
   * does.
   */
  newestForUnknown(url: string): number {
    return Math.max(this.newest(url, undefined), this.#newestLabel?.generation ?? 0);
  }

  /** Returns the newest purge of one of a file's labels. */
  newestOfLabels(labels: readonly string[]): Purge | undefined {
    if (labels.includes(ANY_LABEL)) return this.#newestLabel;
    let newest: Purge | undefined;
    for (const label of labels) {
      const purge = this.#purges.get(targetKey({ kind: 'label', label }));
      if (purge !== undefined && purge.generation > (newest?.generation ?? 0)) newest = purge;
    }
    return newest;
  }

  /**
   * Returns true if a file that was stored in a generation has been purged since by a label.
   *
   * @param labels reads the labels of the file; called only if it matters
   */
  isVoidByLabel(labels: () => readonly string[], generation: number): boolean {
    if (generation >= (this.#newestLabel?.generation ?? 0)) return false;
    return generation < (this.newestOfLabels(labels())?.generation ?? 0);
  }

  /** Returns the few purges that cover a file or a version of it. */
  covering(url: string, tag: string | undefined): Purge[] {
    if (this.count === 0) return [];
    const found = this.#keysFor(url, tag).map((key) => this.#purges.get(key));
    return [this.#all, ...found].filter((purge) => purge !== undefined);
  }

  #keysFor(url: string, tag: string | undefined): string[] {
    const keys = [targetKey({ kind: 'url', url })];
    // Content that was requested by its digest has a version as well.
    const version = tag === undefined ? undefined : withoutDigest(tag);
    if (version !== undefined) keys.push(targetKey({ kind: 'version', url, tag: version }));
    if (this.#prefixes === 0) return keys;
    return [...keys, ...prefixesOf(url).map((prefix) => targetKey({ kind: 'prefix', prefix }))];
  }

  #put(purges: Map<string, Purge>, purge: Purge): void {
    if (purge.target.kind === 'all') {
      if (purge.generation > (this.#all?.generation ?? 0)) this.#all = purge;
      return;
    }
    const key = targetKey(purge.target);
    // Removed first, so that the map stays in order of generations.
    if (!purges.delete(key)) this.#chars += key.length;
    else if (purge.target.kind === 'prefix') this.#prefixes--;
    if (purge.target.kind === 'prefix') this.#prefixes++;
    if (purge.target.kind === 'label' && purge.generation > (this.#newestLabel?.generation ?? 0)) {
      this.#newestLabel = purge;
    }
    purges.set(key, purge);
  }

  /** Makes room: widens the older half until a quarter of the table is free. */
  #compact(): void {
    while (this.#purges.size > this.#maxPurges * 0.75 || this.#chars > this.#maxChars * 0.75) {
      const all = [...this.#purges];
      const older = all.splice(0, Math.ceil(all.length / 2));
      const younger = new Map(all);
      this.#purges = new Map();
      this.#chars = 0;
      this.#prefixes = 0;
      for (const [, { target, id, generation }] of older) {
        const wider = widened(target);
        // A younger purge of the same target covers it as well. The id is a new one: nodes that
        // know the old one have purged less.
        if (younger.has(targetKey(wider))) continue;
        this.#put(this.#purges, { target: wider, id: `${id.slice(0, 60)}~`, generation });
      }
      for (const purge of younger.values()) this.#put(this.#purges, purge);
    }
    for (const { id } of this.purges()) this.#remember(id);
  }

  #remember(id: string): void {
    this.#seen.add(id);
    if (this.#seen.size < 2 * this.#maxPurges) return;
    this.#seenBefore = this.#seen;
    this.#seen = new Set();
  }
}
