/**
 * The places of an exNode: servers that have parts of the file. A place is a server, not an
 * allocation, because forecasts, limits and blame are about servers, and an exNode may name a
 * thousand allocations.
 */

import { type ByteRange, RangeSet } from '../base/byte-range.ts';
import type { Millis } from '../base/clock.ts';
import { isPublicHost } from '../http/urls/public-host.ts';
import { unitsOf } from './coded.ts';
import type { Exnode, ExnodeReplica } from './exnode.ts';
import { coverage, isOver } from './layout.ts';
import { allReplicas } from './replicas.ts';

/** Most places that are used. */
export const MAX_PLACES = 64;

/** Bytes of the file that a URL serves. */
export interface PlacePart extends ByteRange {
  readonly url: string;
  /** Position of the part's first byte in what the URL serves. */
  readonly at: number;
}

export interface Place {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Parts of the file, ascending and disjoint. */
  readonly parts: readonly PlacePart[];
}

/**
 * Lists the places of an exNode, at most `MAX_PLACES`. A server that has some bytes more than once
 * is several places: the first has as much of the file as possible.
 *
 * Replicas whose lease has ended are left out. But the owner may have extended leases since a copy
 * of the exNode was given away, which still names the old ends: if bytes are missing by these, all
 * replicas of such a copy are listed.
 *
 * @param now Unix milliseconds
 */
export function placesOf(exnode: Exnode, now: Millis): Place[] {
  return placesWith(exnode, usedReplicas(exnode, now));
}

/** Returns the function that tells whether a replica is used, as described for `placesOf`. */
export function usedReplicas(exnode: Exnode, now: Millis): (replica: ExnodeReplica) => boolean {
  const isLasting = (replica: ExnodeReplica) => !isOver(replica, now);
  const isOwners = allReplicas(exnode).some(({ replica, extent }) => extent && replica.manage);
  const isComplete = coverage(exnode, isLasting).covers({ start: 0, end: exnode.size });
  return isOwners || isComplete ? isLasting : () => true;
}

function placesWith(
  { extents, coded = [] }: Exnode,
  isListed: (replica: ExnodeReplica) => boolean,
): Place[] {
  const byOrigin = new Map<string, PlacePart[]>();
  const add = ({ start, end }: ByteRange, read: string, at: number) => {
    const { origin } = new URL(read);
    const parts = byOrigin.get(origin) ?? [];
    parts.push({ start, end, url: read, at });
    byOrigin.set(origin, parts);
  };
  for (const extent of extents) {
    for (const { read, at } of extent.replicas.filter(isListed)) add(extent, read, at);
  }
  for (const extent of coded) {
    for (const [i, replicas] of extent.shards.slice(0, extent.data).entries()) {
      const units = unitsOf(extent, i);
      for (const { read, at } of replicas.filter(isListed)) {
        for (const unit of units) add(unit, read, at + unit.at);
      }
    }
  }
  const layers = [...byOrigin].flatMap(([origin, parts]) =>
    layersOf(parts).map((layer, depth) => ({ origin, parts: layer, depth })),
  );
  // The first of each server are worth more than the second of any.
  layers.sort((a, b) => a.depth - b.depth);
  return layers.slice(0, MAX_PLACES).map(({ origin, parts }) => ({ origin, parts }));
}

/** Distributes parts to as few layers as possible, each of disjoint parts in order. */
function layersOf(parts: readonly PlacePart[]): PlacePart[][] {
  const sorted = [...parts].sort((a, b) => a.start - b.start || b.end - a.end);
  const layers: PlacePart[][] = [];
  for (const part of sorted) {
    const free = layers.find((layer) => (layer.at(-1) as PlacePart).end <= part.start);
    if (free !== undefined) free.push(part);
    else if (layers.length < MAX_PLACES) layers.push([part]);
  }
  return layers;
}

/** A URL that serves all of a file. */
export interface WholeFile {
  readonly url: string;
  /** End of its lease, Unix milliseconds; undefined: none is known. */
  readonly expires: Millis | undefined;
}

/**
 * Lists the URLs that serve all of a file, each byte at its own position, as programs expect that know
 * no exNodes. Replicas count as for `placesOf`.
 *
 * @param now Unix milliseconds
 */
export function wholeFiles(exnode: Exnode, now: Millis): WholeFile[] {
  const isUsed = usedReplicas(exnode, now);
  const own = exnode.extents.flatMap(({ start, end, replicas }) =>
    replicas
      .filter((replica) => isUsed(replica) && replica.at === start)
      .map(({ read: url, expires }) => ({ url, expires, start, end })),
  );
  const all = [...Map.groupBy(own, ({ url }) => url)];
  return all.flatMap(([url, parts]): WholeFile[] => {
    const held = new RangeSet();
    for (const part of parts) held.add(part);
    if (!held.covers({ start: 0, end: exnode.size })) return [];
    const ends = parts.flatMap(({ expires }) => expires ?? []);
    return [{ url, expires: ends.length === 0 ? undefined : Math.min(...ends) }];
  });
}

/** Lists the ranges of a file that no place has, ascending. */
export function unheld(size: number, places: readonly Place[]): ByteRange[] {
  const held = new RangeSet(places.flatMap(({ parts }) => parts).sort((a, b) => a.start - b.start));
  return held.missing({ start: 0, end: size });
}

/** Finds a host of an exNode that is in somebody's own network; undefined: all are public. */
export function privateHost(exnode: Exnode): string | undefined {
  for (const { replica } of allReplicas(exnode)) {
    const { hostname } = new URL(replica.read);
    if (!isPublicHost(hostname)) return hostname;
  }
  return undefined;
}
