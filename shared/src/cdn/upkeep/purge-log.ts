/**
 * The purges that all nodes of a network are to carry out, as each node remembers them: the latest
 * ones, bounded in number and size, in an order that is the same everywhere. Two nodes compare
 * digests with their heartbeats; if these differ, one reads the other's log and carries out the
 * purges it has missed. A node that has missed more than the log holds purges everything once.
 */

import type { Millis } from '../../base/clock.ts';
import { type PurgeTarget, targetKey } from './purge-target.ts';
import {
  combined,
  digestText,
  hashItem,
  NOTHING_DIGEST,
  type Pair,
  parseDigest,
} from './set-digest.ts';

/** Most purges in the log. */
export const MAX_LOGGED = 4096;
/** Most characters of their targets together, which one node reads from another at once. */
const MAX_LOGGED_CHARS = 1024 * 1024;

export interface LoggedPurge {
  readonly target: PurgeTarget;
  readonly id: string;
  /** When it was requested, Unix milliseconds of the asked node; it only orders the log. */
  readonly at: Millis;
}

/** Entries that were dropped for lack of room: all up to a place in the order. */
export interface Dropped {
  readonly at: Millis;
  readonly id: string;
  /** Digest of all dropped purges, hexadecimal. */
  readonly digest: string;
}

/** A log as one node sends it to another. */
export interface PurgeLogSnapshot {
  readonly dropped: Dropped;
  readonly purges: readonly LoggedPurge[];
}

export const NOTHING_DROPPED: Dropped = { at: 0, id: '', digest: NOTHING_DIGEST };

export class PurgeLog {
  readonly #maxPurges: number;
  readonly #maxChars: number;
  /** The purges, oldest first. */
  #purges: LoggedPurge[] = [];
  #ids = new Set<string>();
  #chars = 0;
  #dropped: Dropped = NOTHING_DROPPED;

  constructor(options: { readonly maxPurges?: number; readonly maxChars?: number } = {}) {
    this.#maxPurges = options.maxPurges ?? MAX_LOGGED;
    this.#maxChars = options.maxChars ?? MAX_LOGGED_CHARS;
  }

  get snapshot(): PurgeLogSnapshot {
    return { dropped: this.#dropped, purges: this.#purges };
  }

  /** Equal for two nodes exactly if their logs are equal (except for a chance of 2^-64). */
  get digest(): string {
    const { at, id, digest } = this.#dropped;
    return digestText(combined([hashItem(`${at} ${id} ${digest}`), hashOf(this.#purges)]));
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Adds a purge to the log, unless it is older than the dropped ones. */
  add(purge: LoggedPurge): void {
    if (this.#ids.has(purge.id) || compare(purge, this.#dropped) <= 0) return;
    let at = this.#purges.length;
    while (at > 0 && compare(this.#purges[at - 1] as LoggedPurge, purge) > 0) at--;
    this.#purges.splice(at, 0, purge);
    this.#ids.add(purge.id);
    this.#chars += sizeOf(purge);
    let over = 0;
    for (let chars = this.#chars, left = this.#purges.length; ; over++, left--) {
      if (left <= this.#maxPurges && chars <= this.#maxChars) break;
      chars -= sizeOf(this.#purges[over] as LoggedPurge);
    }
    if (over > 0) this.#drop(over);
  }

  /**
   * Merges the log of another node.
   *
   * @returns `purges` to carry out, which may include known ones; `all` if this node has missed
   *   purges that are in neither log any more
   */
  merge({ dropped, purges }: PurgeLogSnapshot): { purges: LoggedPurge[]; all: boolean } {
    const all = this.#catchUp(dropped);
    const missed = purges.filter(({ id }) => !this.#ids.has(id));
    for (const purge of missed) this.add(purge);
    return { purges: missed, all };
  }

  /** Drops the purges that the other node has dropped: all up to the same place in the order. */
  #catchUp(theirs: Dropped): boolean {
    const order = compare(theirs, this.#dropped);
    if (order < 0) return false;
    const until = this.#purges.findIndex((purge) => compare(purge, theirs) > 0);
    this.#drop(until < 0 ? this.#purges.length : until);
    const mine = this.#dropped.digest;
    // Of two nodes that dropped different purges up to the same place, one must give way.
    if (mine === theirs.digest || (order === 0 && mine > theirs.digest)) {
      this.#dropped = { ...theirs, digest: mine };
      return false;
    }
    this.#dropped = theirs;
    return true;
  }

  /** Drops the oldest purges. */
  #drop(count: number): void {
    const gone = this.#purges.splice(0, count);
    const last = gone.at(-1);
    if (last === undefined) return;
    for (const purge of gone) {
      this.#ids.delete(purge.id);
      this.#chars -= sizeOf(purge);
    }
    const digest = digestText(combined([parseDigest(this.#dropped.digest), hashOf(gone)]));
    this.#dropped = { at: last.at, id: last.id, digest };
  }
}

/** Orders by time, then by id; clocks of nodes need not agree for that. */
function compare(a: { at: Millis; id: string }, b: { at: Millis; id: string }): number {
  if (a.at !== b.at) return a.at - b.at;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function sizeOf({ target, id }: LoggedPurge): number {
  return targetKey(target).length + id.length;
}

/**
 * Hashes purges independently of their order, since two nodes may have dropped the same ones in
 * other steps.
 */
function hashOf(purges: readonly LoggedPurge[]): Pair {
  return combined(purges.map(({ at, id }) => hashItem(`${at} ${id}`)));
}
