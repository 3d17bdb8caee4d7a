/**
 * Discovery of depots by need (L-Bone, LOCI 2.2): the edges of a network whose depots have room for
 * some bytes and some time, the one that is forecast to be the fastest first.
 */

import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';

/** Room that a depot still has, as it tells the nodes of its network. */
export interface DepotRoom {
  readonly freeBytes: number;
  /** Longest time from now to the end of a lease. */
  readonly maxSeconds: number;
}

/** The question that a list of edges answers. */
export interface DepotNeed {
  /** Bytes and seconds that a depot must have room for; undefined: edges without a depot count too. */
  readonly room: { readonly bytes: number; readonly seconds: number } | undefined;
  /** Name of the edge whose own list is wanted. */
  readonly near: string | undefined;
}

/** Parameters of a URL, as `URLSearchParams` has them. */
interface Query {
  getAll(name: string): readonly string[];
}

/** An edge as its network lists it. */
export interface DepotEdge {
  readonly name: string;
  readonly healthy: boolean;
  /** Round trip from the edge that makes the list; 0: that edge itself. */
  readonly rttMs: Millis;
  readonly depot?: DepotRoom | undefined;
}

/** Most edges of a list by need: nobody stores a file at more. */
const MAX_LISTED = 100;
const WHOLE_NUMBER = /^\d{1,16}$/;
const MAX_NAME_CHARS = 100;

/**
 * Reads the query of a request for a list of edges.
 *
 * @param query parameters; those of other names have no meaning
 * @throws MillraceError `bad-request` naming the parameter
 */
export function readDepotNeed(query: Query): DepotNeed {
  const bytes = wholeNumber(query, 'bytes', 0);
  const seconds = wholeNumber(query, 'seconds', 1);
  const near = single(query, 'near');
  if (near !== undefined && (near === '' || near.length > MAX_NAME_CHARS)) {
    throw new MillraceError('bad-request', 'near must be the name of an edge');
  }
  const isRoom = bytes !== undefined || seconds !== undefined;
  return { room: isRoom ? { bytes: bytes ?? 0, seconds: seconds ?? 0 } : undefined, near };
}

/** Returns true if a depot has room for what is needed. */
export function hasRoom(depot: DepotRoom | undefined, need: NonNullable<DepotNeed['room']>) {
  return depot !== undefined && depot.freeBytes >= need.bytes && depot.maxSeconds >= need.seconds;
}

/**
 * Picks the healthy edges whose depots have room, the best first: by the throughput that was
 * observed, less its deviation. Edges that have sent nothing yet are placed by their round trips,
 * for throughput falls with those: as much as the typical edge would have at their distance.
 *
 * @param speedOf forecast of an edge by its name, bytes per second; undefined: nothing was observed
 */
export function edgesWithRoom<E extends DepotEdge>(
  edges: readonly E[],
  need: NonNullable<DepotNeed['room']>,
  speedOf: (name: string) => number | undefined,
): E[] {
  const able = edges.filter(({ healthy, depot }) => healthy && hasRoom(depot, need));
  const seen = able.flatMap(({ name, rttMs }) => {
    const speed = speedOf(name);
    return speed === undefined || rttMs <= 0 ? [] : speed * rttMs;
  });
  const typical = seen.sort((a, b) => a - b)[seen.length >> 1] ?? 1;
  const forecast = ({ name, rttMs }: E) => {
    if (rttMs <= 0) return Number.POSITIVE_INFINITY;
    return speedOf(name) ?? typical / rttMs;
  };
  return able
    .map((edge) => ({ edge, speed: forecast(edge) }))
    .sort((a, b) => (a.speed === b.speed ? order(a.edge, b.edge) : b.speed - a.speed))
    .slice(0, MAX_LISTED)
    .map(({ edge }) => edge);
}

function order(a: DepotEdge, b: DepotEdge): number {
  return a.name < b.name ? -1 : 1;
}

/** @throws MillraceError `bad-request` */
function wholeNumber(query: Query, name: string, least: number): number | undefined {
  const text = single(query, name);
  if (text === undefined) return undefined;
  const value = WHOLE_NUMBER.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  const what = least === 0 ? 'a whole number' : `a whole number from ${least}`;
  throw new MillraceError('bad-request', `${name} must be ${what}`);
}

/** @throws MillraceError `bad-request` if a parameter comes twice */
function single(query: Query, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  if (more.length > 0) throw new MillraceError('bad-request', `${name} is given twice`);
  return value;
}
