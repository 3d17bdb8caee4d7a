/**
 * Decides how replicas that are lost are replaced, and further ones added (LoRS augment, LOCI 2.3):
 * which extents lack how many replicas, which depots get them, and which replicas they are copied
 * from. Of coded extents each shard has one replica, and no depot gets
 * two shards of an extent.
 */

import { type ByteRange, RangeSet } from '../base/byte-range.ts';
import { MillraceError } from '../base/errors.ts';
import { type ShardOf, shardBytes, unitsOf } from './coded.ts';
import { type Exnode, type ExnodeReplica, MAX_ALL_REPLICAS, MAX_REPLICAS } from './exnode.ts';
import type { Findings, ReplicaState } from './findings.ts';
import { depotOf } from './layout.ts';

/** A replica that is added: an extent or a shard of it, and the depot that stores it. */
export interface Fill extends ByteRange {
  /** Address that the depot was named by: scheme, host and port. */
  readonly depot: string;
  /** Index of the shard; undefined: all of a plain extent. */
  readonly shard?: number | undefined;
  /** Length of the replica. */
  readonly bytes: number;
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

/**
 * An extent or a shard, and what is known about its replicas. Plain extents of one range are one
 * part.
 */
interface Part extends ByteRange {
  readonly shard: ShardOf | undefined;
  /** Length of a replica. */
  readonly bytes: number;
  /** Shards of the same extent, this one too; undefined: it is a plain extent. */
  readonly row: Part[] | undefined;
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
  /** Bytes that good replicas of plain extents have, as of the last change; undefined: not known. */
  #copied: RangeSet | undefined;

  /**
   * Compares what there is with what there shall be.
   *
   * @param findings answers of the places: only replicas that are there count
   * @param copies replicas that each plain extent shall have, each at another depot, from 1
   * @param depots addresses of the depots that may store some, each once
   * @throws MillraceError `bad-exnode` if it would list more replicas than an exNode may
   */
  constructor(exnode: Exnode, findings: Findings, copies: number, depots: readonly string[]) {
    this.#copies = copies;
    this.#depots = depots;
    for (const { start, end, replicas } of exnode.extents) {
      const part = this.#partOf({ start, end }) ?? newPart({ start, end }, undefined, undefined);
      this.#take(part, replicas, findings);
    }
    for (const extent of exnode.coded ?? []) {
      // Of several with one range, which may be laid out in other ways, the first is looked after.
      if (this.#partOf({ ...extent, shard: 0 }) !== undefined) continue;
      const row: Part[] = [];
      for (const [index, replicas] of extent.shards.entries()) {
        if (shardBytes(extent, index) === 0) continue;
        const part = newPart(extent, { extent, index }, row);
        row.push(part);
        this.#take(part, replicas, findings);
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

  /** Ranges of extents that have no good replica, nor enough shards: there is nothing to copy. */
  get missing(): ByteRange[] {
    const without = [...this.#parts.values()].filter(
      (part) => part.good.size === 0 && !this.#isHad(part),
    );
    const ranges = without.flatMap(({ start, end, shard }): ByteRange[] => {
      if (shard === undefined) return [{ start, end }];
      return shard.index < shard.extent.data ? unitsOf(shard.extent, shard.index) : [];
    });
    return ranges.map(({ start, end }) => ({ start, end })).sort((a, b) => a.start - b.start);
  }

  /** The extent that lacks the most depots; undefined: each can get as many replicas as wanted. */
  get shortage(): Shortage | undefined {
    let worst: Shortage | undefined;
    for (const part of this.#parts.values()) {
      if (!this.#isHad(part)) continue;
      // Each shard of a row takes another depot.
      const row = part.row?.filter((other) => this.#isHad(other)) ?? [part];
      const lacking = row.reduce((sum, other) => sum + this.#lacking(other), 0);
      const depots = lacking - this.#candidates(part).length;
      if (depots <= (worst?.depots ?? 0)) continue;
      worst = { depots, range: { start: part.start, end: part.end } };
    }
    return worst;
  }

  /**
   * Takes up a replica that an earlier run has begun; it is under way from now on.
   *
   * @param begun its extent, and its shard
   * @param depot that has it
   * @returns undefined if its extent needs no further replica, or none there
   */
  resume(begun: ByteRange & { readonly shard?: number | undefined }, depot: string) {
    const part = this.#partOf(begun);
    if (part === undefined || this.#lacking(part) === 0) return undefined;
    if (this.#taken(part).has(depot)) return undefined;
    return this.#add(part, depot);
  }

  /**
   * Places the replicas that are still to be added, as far as there are depots: each at the one with
   * the fewest bytes of those that do not have the extent. One that has lost it comes after these,
   * and one that is silent comes last.
   */
  place(): void {
    const parts = [...this.#parts.values()].filter((part) => this.#isHad(part));
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
  sources(range: ByteRange & { readonly shard?: number | undefined }): ExnodeReplica[] {
    const used = (replica: ExnodeReplica) => this.#uses.get(replica) ?? 0;
    return [...(this.#partOf(range)?.good ?? [])].sort((a, b) => used(a) - used(b));
  }

  /** Bytes that good replicas of plain extents have. */
  get #copiedBytes(): RangeSet {
    if (this.#copied !== undefined) return this.#copied;
    const had = [...this.#parts.values()].filter(
      ({ shard, good }) => shard === undefined && good.size > 0,
    );
    this.#copied = new RangeSet(had.sort((a, b) => a.start - b.start));
    return this.#copied;
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
    if (this.#taken(part).has(served)) return false;
    this.#add(part, fill.depot, fill);
    return true;
  }

  /** Notes that a replica is stored, and right: it counts, and can be copied as well. */
  onStored(fill: Fill, replica: ExnodeReplica): void {
    this.#partOf(fill)?.good.add(replica);
    this.#copied = undefined;
  }

  /** Notes that a replica is not added at its depot. */
  onGivenUp(fill: Fill): void {
    if (this.#partOf(fill)?.fills.delete(fill)) {
      this.#charge(this.#served(fill.depot), -fill.bytes);
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
    this.#copied = undefined;
    for (const part of this.#parts.values()) {
      if (!part.good.delete(replica)) continue;
      part.doubtful.add(depot);
      const same = [...part.fills].filter((fill) => this.#served(fill.depot) === depot);
      for (const fill of same) part.fills.delete(fill);
    }
  }

  #take(part: Part, replicas: readonly ExnodeReplica[], findings: Findings): void {
    this.#parts.set(keyOf({ ...part, shard: part.shard?.index }), part);
    part.listed += replicas.length;
    for (const replica of replicas) {
      const state = findings.get(replica)?.state ?? 'silent';
      const depot = depotOf(replica);
      if (state === 'there') {
        part.good.add(replica);
        this.#charge(depot, part.bytes);
      } else if (LOST.has(state)) part.lost.add(depot);
      else part.doubtful.add(depot);
      if (state === 'silent') this.#silent.add(depot);
    }
  }

  #partOf(range: Parameters<typeof keyOf>[0]): Part | undefined {
    return this.#parts.get(keyOf(range));
  }

  #add(part: Part, depot: string, given?: Fill): Fill {
    const { start, end, bytes } = part;
    const fill = given ?? { start, end, depot, shard: part.shard?.index, bytes };
    part.fills.add(fill);
    this.#charge(this.#served(depot), bytes);
    return fill;
  }

  /** Returns true if a further replica can be made: of a good one, or of enough other shards. */
  #isHad({ good, shard, row = [] }: Part): boolean {
    if (good.size > 0) return true;
    if (shard === undefined) return false;
    const lost = row.filter((other) => other.good.size === 0).length;
    if (lost <= shard.extent.parity) return true;
    if (shard.index >= shard.extent.data) return false;
    const copied = this.#copiedBytes;
    return unitsOf(shard.extent, shard.index).every((unit) => copied.covers(unit));
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

  /** Returns the depots that can get no replica of it: they have it, or a shard of the same row. */
  #taken(part: Part): Set<string> {
    return new Set((part.row ?? [part]).flatMap((other) => [...this.#holders(other)]));
  }

  #lacking(part: Part): number {
    const wanted = part.shard === undefined ? this.#copies : 1;
    return Math.max(0, wanted - this.#holders(part).size);
  }

  /** Lists the depots that can get an extent. Two names of one depot count once. */
  #candidates(part: Part): string[] {
    const doubtful = (part.row ?? [part]).flatMap((other) => [...other.doubtful]);
    const taken = new Set([...this.#taken(part), ...doubtful]);
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

function newPart({ start, end }: ByteRange, shard: Part['shard'], row: Part['row']): Part {
  const bytes = shard === undefined ? end - start : shardBytes(shard.extent, shard.index);
  const replicas = { good: new Set<ExnodeReplica>(), fills: new Set<Fill>() };
  return {
    ...{ start, end, shard, row, bytes, listed: 0, ...replicas },
    ...{ doubtful: new Set<string>(), lost: new Set<string>() },
  };
}

function keyOf({ start, end, shard }: ByteRange & { readonly shard?: number | undefined }): string {
  return `${start}-${end} ${shard ?? ''}`;
}
