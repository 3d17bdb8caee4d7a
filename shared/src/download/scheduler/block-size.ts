/**
 * Chooses how many bytes one request asks for: blocks adapt to the speed of their source (LOCI 5),
 * so that a request to any source takes a few seconds, and to the rest of the file, so that all
 * connections end together.
 */

import type { Millis } from '../../base/clock.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** Most blocks of the stored map, whatever the length of the file. */
const MAX_BLOCKS = 65_536;
const MIN_GRID_BYTES = 64 * KiB;
/** Alignment of the beginnings and ends of requests, if nothing else decides. */
export const ALIGN_BYTES = 64 * KiB;
/** Largest first request to an unknown source, in bytes. */
const FIRST_BYTES = 256 * KiB;
/** The same if there is no other source, whose requests would be faster. */
const SOLE_FIRST_BYTES = 2048 * KiB;
/** Shortest request, in times to the first byte, during which its connection brings nothing. */
const WORTH_HEADS = 8;
/** Largest request, in bytes. */
const MAX_BYTES = 64 * MiB;
/** Time that a request should take. */
const TARGET_MS = 4000;
/** The same while a reader waits for the bytes. */
const URGENT_MS = 1000;
/** Shortest time that a request should take: shorter ones would mostly wait for answers. */
const MIN_MS = 100;
/** Fewest requests that each connection gets out of the missing bytes. */
const SHARES = 2;

/** Chooses the size of the stored map's blocks: a power of two, 64 KiB for up to 4 GiB. */
export function chooseGridBytes(length: number): number {
  return Math.max(MIN_GRID_BYTES, 2 ** Math.ceil(Math.log2(length / MAX_BLOCKS)));
}

export interface BlockSizeInput {
  /** Bytes per second that one request to the source brings; undefined: unknown. */
  readonly rate: number | undefined;
  /** Time to the first byte. */
  readonly firstByteMs: Millis;
  /** Bytes per second that all other requests bring together. */
  readonly othersRate: number;
  /** Bytes of the file that are not stored. */
  readonly missing: number;
  /** Requests at a time over all sources. */
  readonly connections: number;
  /** True if a reader, such as a player, waits for these bytes. */
  readonly urgent: boolean;
  /** True if no other source is known: all requests are about equally fast. */
  readonly sole?: boolean;
  /** Time that the other sources need for their smallest request; 0 unless given. */
  readonly behindMs?: Millis;
}

/** Returns the size of a request, at least 64 KiB, before it is fitted to its place in the file. */
export function requestBytes(input: BlockSizeInput): number {
  const { rate, firstByteMs, othersRate, missing, connections, urgent } = input;
  const share = missing / (connections * SHARES);
  if (rate === undefined) {
    return clamp(Math.floor(share), ALIGN_BYTES, input.sole ? SOLE_FIRST_BYTES : FIRST_BYTES);
  }
  const leftMs = (missing * 1000) / (rate + othersRate);
  // Other sources, which may be found later, should find bytes that nobody has asked for yet.
  const worthMs = input.sole ? Math.min(leftMs, firstByteMs * WORTH_HEADS) : 0;
  const shortest = Math.max(MIN_MS, firstByteMs, worthMs);
  const ms = Math.max(shortest, Math.min(urgent ? URGENT_MS : TARGET_MS, leftMs / SHARES));
  return clamp(Math.floor((rate * ms) / 1000), ALIGN_BYTES, MAX_BYTES);
}

/**
 * Computes the bytes that the other requests bring before this source could bring its smallest
 * request. If no more are left, asking a slow source would only mean waiting for it.
 */
export function reachBytes({
  rate,
  firstByteMs,
  othersRate,
  behindMs = 0,
}: BlockSizeInput): number {
  if (rate === undefined || othersRate === 0) return 0;
  if (rate === 0) return Number.POSITIVE_INFINITY;
  const ms = firstByteMs + (ALIGN_BYTES * 1000) / rate - behindMs;
  return Math.max(0, (othersRate * ms) / 1000);
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
