/**
 * The places of an exNode: servers that have parts of the file. A place is a server, not an
 * allocation, because forecasts, limits and blame are about servers, and an exNode may name a
 * thousand allocations.
 */

import { type ByteRange, RangeSet } from '../base/byte-range.ts';
import type { Millis } from '../base/clock.ts';
import { isPublicHost } from '../http/urls/public-host.ts';
import type { Exnode, ExnodeReplica, Extent } from './exnode.ts';
import { isOver } from './layout.ts';
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
export function placesOf({ size, extents }: Exnode, now: Millis): Place[] {
  const lasting = placesWith(extents, (replica) => !isOver(replica, now));
  const isOwners = extents.some(({ replicas }) => replicas.some(({ manage }) => manage));
  if (isOwners || unheld(size, lasting).length === 0) return lasting;
  return placesWith(extents, () => true);
}

function placesWith(
  extents: readonly Extent[],
  isListed: (replica: ExnodeReplica) => boolean,
): Place[] {
  const byOrigin = new Map<string, PlacePart[]>();
  for (const { start, end, replicas } of extents) {
    for (const replica of replicas) {
      if (!isListed(replica)) continue;
      const { read, at } = replica;
      const { origin } = new URL(read);
      const parts = byOrigin.get(origin) ?? [];
      parts.push({ start, end, url: read, at });
      byOrigin.set(origin, parts);
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
