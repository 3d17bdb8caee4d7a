/**
 * Places of nodes, and the time that messages take between them: sites on a map whose unit is a
 * millisecond of round trip, in three continents of unequal size as PlanetLab had. NSDI 6 counts
 * about 400 nodes; by NSDI 4.2, two thirds have 100 peers or more within 100 ms, which this map is
 * made to meet. Some sites are far from all others because of their own line (NSDI 5.2).
 */

import type { Millis, Random } from '@millrace/shared/base/clock';

export interface Place {
  readonly x: number;
  readonly y: number;
  /** Milliseconds that the site's own line adds to each round trip. */
  readonly accessMs: Millis;
}

/** Share of sites, centre, and spread, milliseconds of round trip. */
const CONTINENTS = [
  { share: 0.55, x: 0, y: 0, spread: 32 },
  { share: 0.28, x: 115, y: 20, spread: 18 },
  { share: 0.17, x: 60, y: 185, spread: 32 },
] as const;
const FAR_SHARE = 0.05;
const FAR_MS = 110;

/** Draws the place of a site. */
function somewhere(random: Random): Place {
  let draw = random();
  let continent: (typeof CONTINENTS)[number] = CONTINENTS[0];
  for (const candidate of CONTINENTS) {
    continent = candidate;
    draw -= candidate.share;
    if (draw < 0) break;
  }
  const accessMs = random() < FAR_SHARE ? FAR_MS : 1 + 6 * random();
  const { x, y, spread } = continent;
  return { x: x + spread * normal(random), y: y + spread * normal(random), accessMs };
}

/** Places `count` machines at sites of `perSite` each. */
export function machines(count: number, perSite: number, random: Random): Place[] {
  const places: Place[] = [];
  let site = somewhere(random);
  for (let i = 0; i < count; i++) {
    if (i % perSite === 0) site = somewhere(random);
    places.push(site);
  }
  return places;
}

/** Returns the round trip between two places, without queues. */
export function rttMs(a: Place, b: Place): Millis {
  if (a === b) return 0.5;
  return Math.hypot(a.x - b.x, a.y - b.y) + a.accessMs + b.accessMs;
}

/**
 * Draws the round trip of a heartbeat. An application takes its time, and ten times as long now and
 * then (NSDI 4.2).
 */
export function heartbeatMs(a: Place, b: Place, random: Random): Millis {
  const busy = random() < 0.1 ? 10 : 1;
  return rttMs(a, b) - 8 * busy * Math.log(1 - random());
}

/** Draws a standard normal number (Box and Muller). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
