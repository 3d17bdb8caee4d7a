/**
 * Time and random numbers are arguments, never read from the environment: decision logic stays
 * deterministic, and the same modules run in edge, engine, extension and simulator.
 */

/** A point in time in milliseconds: monotonic where intervals are measured, otherwise Unix time. */
export type Millis = number;

/** A week: the usual term of links and of files in depots. */
export const WEEK_MS: Millis = 7 * 86_400_000;

/** A source of random numbers, uniform in [0, 1). */
export type Random = () => number;

/**
 * Makes a seeded generator (sfc32: 128 bits of state, passes PractRand), for tests, simulation and
 * tie-breaks that must be repeatable. Not for secrets.
 *
 * @param seed any number; its low 32 bits count
 */
export function seededRandom(seed: number): Random {
  let a = seed | 0;
  let b = 0x9e3779b9;
  let c = 0x243f6a88;
  let counter = 1;
  const next = () => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4294967296;
  };
  // The state starts out almost all constant: let the seed reach every bit of it.
  for (let i = 0; i < 12; i++) next();
  return next;
}
