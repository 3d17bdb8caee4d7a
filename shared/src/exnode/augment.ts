/**
 * Decides how replicas that are lost are replaced, and further ones added (LoRS augment, LOCI 2.3):
 * which extents lack how many replicas, which depots get them, which replicas they are copied from,
 * and what follows after a failure.
 */

import { type ByteRange, rangeBytes } from '../base/byte-range.ts';
import { MillraceError } from '../base/errors.ts';
import { type Exnode, type ExnodeReplica, MAX_ALL_REPLICAS, MAX_REPLICAS } from './exnode.ts';
import type { Findings, ReplicaState } from './findings.ts';
import { depotOf } from './layout.ts';

/** A replica that is added: an extent, and the depot that stores it. */
export interface Fill extends ByteRange {
  /** Address that the depot was named by: scheme, host and port. */
  readonly depot: string;
}

/** Too few depots: bytes that cannot get as many replicas as wanted, and how many depots lack. */
export interface Shortage {
  readonly depots: number;
  readonly range: ByteRange;
}

/** States of replicas whose depot may store the extent anew. */
const LOST: ReadonlySet<ReplicaState> = new Set<ReplicaState>([
  ...(['expired', 'gone', 'short', 'damaged'] as const),
]);

/** An extent, and what is known about its replicas. Extents of one range are one part. */
interface Part extends ByteRange {
  /** Number of replicas that are listed, right or not. */
  listed: number;
  readonly good: Set<ExnodeReplica>;
  /** Depots that may have a replica that cannot be read now, and those that have lost one. */
  readonly doubtful: Set<string>;
  readonly lost: Set<string>;
  /** Replicas that are planned, under way or stored. */
  readonly fills: Set<Fill>;
}

export class Augmentation {
  readonly #copies: number;
  readonly #depots: readonly string[];
  /** Extents by their ranges; in `place` those with the fewest good replicas come first. */
  readonly #parts = new Map<string, Part>();
  /** Replicas that have not been begun, by depot. */
  readonly #waiting = new Map<string, Set<Fill>>();
  readonly #failed = new Set<string>();
  /** Depots that did not answer for a replica. */
  readonly #silent = new Set<string>();
  /** Addresses under which depots serve, where these are others than those they were named by. */
  readonly #aliases = new Map<string, string>();
  /** Bytes that depots have or get, by the address under which they serve. */
  readonly #bytes = new Map<string, number>();
  /** Uses of each replica as a source. */
  readonly #uses = new Map<ExnodeReplica, number>();

  /**
   * Compares what there is with what there shall be.
   *
   * @param findings answers of the places: only replicas that are there count
   * @param copies replicas that each extent shall have, each at another depot, from 1
   * @param depots addresses of the depots that may store some, each once
   * @throws MillraceError `bad-exnode` if it would list more replicas than an exNode may
   */
  constructor(exnode: Exnode, findings: Findings, copies: number, depots: readonly string[]) {
    this.#copies = copies;
    this.#depots = depots;
    for (const { start, end, replicas } of exnode.extents) {
      const part = this.#partOf({ start, end }) ?? newPart({ start, end });
      this.#parts.set(keyOf(part), part);
      part.listed += replicas.length;
      for (const replica of replicas) {
        const state = findings.get(replica)?.state ?? 'silent';
        const depot = depotOf(replica);
        if (state === 'there') {
          part.good.add(replica);
          this.#charge(depot, rangeBytes(part));
        } else if (LOST.has(state)) part.lost.add(depot);
        else part.doubtful.add(depot);
        if (state === 'silent') this.#silent.add(depot);
      }
    }
    let all = 0;
    for (const part of this.#parts.values()) {
      const after = part.listed + this.#lacking(part);
      all += after;
      if (after <= MAX_REPLICAS && all <= MAX_ALL_REPLICAS) continue;
      const why = 'it would list too many replicas: take out those that are lost first (trim)';
      throw new MillraceError('bad-exnode', why);
    }
  }

  /** Replicas that are planned, under way or stored. */
  get fills(): readonly Fill[] {
    return [...this.#parts.values()].flatMap(({ fills }) => [...fills]);
  }

  /** Ranges of extents that have no good replica: there is nothing to copy. */
  get missing(): ByteRange[] {
    const without = [...this.#parts.values()].filter(({ good }) => good.size === 0);
    return without.map(({ start, end }) => ({ start, end }));
  }

  /** The extent that lacks the most depots; undefined: each can get as many replicas as wanted. */
  get shortage(): Shortage | undefined {
    let worst: Shortage | undefined;
    for (const part of this.#parts.values()) {
      if (part.good.size === 0) continue;
      const depots = this.#lacking(part) - this.#candidates(part).length;
      if (depots <= (worst?.depots ?? 0)) continue;
      worst = { depots, range: { start: part.start, end: part.end } };
    }
    return worst;
  }

  /**
   * Takes up a replica that an earlier run has begun; it is under way from now on.
   *
   * @param depot that has it
   * @returns undefined if its extent needs no further replica, or none there
   */
  resume(range: ByteRange, depot: string): Fill | undefined {
    const part = this.#partOf(range);
    if (part === undefined || this.#lacking(part) === 0) return undefined;
    if (this.#holders(part).has(depot)) return undefined;
    return this.#add(part, depot);
  }

  /**
   * Places the replicas that are still to be added, as far as there are depots: each at the one with
   * the fewest bytes of those that do not have the extent. One that has lost it comes after these,
   * and one that is silent comes last.
   */
  place(): void {
    const parts = [...this.#parts.values()].filter(({ good }) => good.size > 0);
    for (const part of parts.sort((a, b) => a.good.size - b.good.size)) {
      for (let lacking = this.#lacking(part); lacking > 0; lacking--) {
        const depot = this.#bestFor(part);
        if (depot === undefined) break;
        const waiting = this.#waiting.get(depot) ?? new Set();
        this.#waiting.set(depot, waiting.add(this.#add(part, depot)));
      }
    }
  }

  /** Begins the next replica at a depot; undefined: there is none now. */
  next(depot: string): Fill | undefined {
    const waiting = this.#waiting.get(depot);
    const [fill] = waiting ?? [];
    if (fill !== undefined) waiting?.delete(fill);
    return fill;
  }

  /** Lists the replicas that an extent can be copied from, the least used first. */
  sources(range: ByteRange): ExnodeReplica[] {
    const used = (replica: ExnodeReplica) => this.#uses.get(replica) ?? 0;
    return [...(this.#partOf(range)?.good ?? [])].sort((a, b) => used(a) - used(b));
  }

  /** Notes that a replica is copied from. */
  onUsed(replica: ExnodeReplica): void {
    this.#uses.set(replica, (this.#uses.get(replica) ?? 0) + 1);
  }

  /**
   * Notes the address under which a depot serves a replica that is under way.
   *
   * @returns false if its extent has a replica there by another name: this one is given up
   */
  onAllocated(fill: Fill, served: string): boolean {
    const part = this.#partOf(fill) as Part;
    this.onGivenUp(fill);
    const before = this.#served(fill.depot);
    if (before !== served) {
      this.#charge(served, this.#bytes.get(before) ?? 0);
      this.#bytes.delete(before);
      this.#aliases.set(fill.depot, served);
    }
    if (this.#holders(part).has(served)) return false;
    this.#add(part, fill.depot, fill);
    return true;
  }

  /** Notes that a replica is stored, and right: it counts, and can be copied as well. */
  onStored(fill: Fill, replica: ExnodeReplica): void {
    this.#partOf(fill)?.good.add(replica);
  }

  /** Notes that a replica is not added at its depot. */
  onGivenUp(fill: Fill): void {
    if (this.#partOf(fill)?.fills.delete(fill)) {
      this.#charge(this.#served(fill.depot), -rangeBytes(fill));
    }
    this.#waiting.get(fill.depot)?.delete(fill);
  }

  /** Notes that a replica cannot be had at its depot, which may store others. */
  onUnfillable(fill: Fill): void {
    this.onGivenUp(fill);
    this.#partOf(fill)?.doubtful.add(this.#served(fill.depot));
  }

  /** Notes that a depot has failed: it gets no further replicas, and keeps those it has stored. */
  onDepotFailed(depot: string): void {
    this.#failed.add(depot);
    for (const fill of [...(this.#waiting.get(depot) ?? [])]) this.onGivenUp(fill);
  }

  /** Notes that a replica has wrong bytes: it does not count any more. */
  onWrong(replica: ExnodeReplica): void {
    const depot = depotOf(replica);
    for (const part of this.#parts.values()) {
      if (!part.good.delete(replica)) continue;
      part.doubtful.add(depot);
      const same = [...part.fills].filter((fill) => this.#served(fill.depot) === depot);
      for (const fill of same) part.fills.delete(fill);
    }
  }

  #partOf(range: ByteRange): Part | undefined {
    return this.#parts.get(keyOf(range));
  }

  #add(part: Part, depot: string, fill: Fill = { start: part.start, end: part.end, depot }): Fill {
    part.fills.add(fill);
    this.#charge(this.#served(depot), rangeBytes(part));
    return fill;
  }

  #charge(depot: string, bytes: number): void {
    this.#bytes.set(depot, (this.#bytes.get(depot) ?? 0) + bytes);
  }

  #served(depot: string): string {
    return this.#aliases.get(depot) ?? depot;
  }

  /** Returns the depots that have a good replica of an extent, or get one. */
  #holders({ good, fills }: Part): Set<string> {
    const getting = [...fills].map(({ depot }) => this.#served(depot));
    return new Set([...[...good].map(depotOf), ...getting]);
  }

  #lacking(part: Part): number {
    return Math.max(0, this.#copies - this.#holders(part).size);
  }

  /** Lists the depots that can get an extent. Two names of one depot count once. */
  #candidates(part: Part): string[] {
    const taken = new Set([...this.#holders(part), ...part.doubtful]);
    return this.#depots.filter((depot) => {
      const served = this.#served(depot);
      if (this.#failed.has(depot) || taken.has(served)) return false;
      taken.add(served);
      return true;
    });
  }

  #bestFor(part: Part): string | undefined {
    const rank = (depot: string) => {
      const served = this.#served(depot);
      return this.#silent.has(served) ? 2 : Number(part.lost.has(served));
    };
    const bytes = (depot: string) => this.#bytes.get(this.#served(depot)) ?? 0;
    return this.#candidates(part).sort((a, b) => rank(a) - rank(b) || bytes(a) - bytes(b))[0];
  }
}

/** A way of filling a replica: its depot pulls the bytes, or the client reads and appends them. */
export type FillWay = 'pull' | 'feed';

/** The next attempt at a replica. `anew`: in another allocation, since this one has wrong bytes. */
export type NextAttempt =
  | { readonly way: 'feed'; readonly anew: boolean }
  /** The depot is left: it has stored other bytes than it was sent. */
  | 'depot-failed';

/**
 * Decides what follows when a replica could not be pulled, or has other digests than it shall have.
 * The client compares each block before it sends it, so what it alone has sent is right.
 *
 * @param way of the attempt that has failed
 * @param stored bytes that were stored when the attempt began
 * @param failure `unreachable` if the depot could not get the bytes; `wrong` if it has wrong ones
 */
export function afterFailure(
  way: FillWay,
  stored: number,
  failure: 'unreachable' | 'wrong',
): NextAttempt {
  if (failure === 'unreachable') return { way: 'feed', anew: false };
  return way === 'feed' && stored === 0 ? 'depot-failed' : { way: 'feed', anew: true };
}

function newPart({ start, end }: ByteRange): Part {
  const replicas = { good: new Set<ExnodeReplica>(), fills: new Set<Fill>() };
  return {
    ...{ start, end, listed: 0, ...replicas },
    ...{ doubtful: new Set<string>(), lost: new Set<string>() },
  };
}

function keyOf({ start, end }: ByteRange): string {
  return `${start}-${end}`;
}
