/** Decides which measurements run, in which time, and why the others do not. */

import type { Measurement } from './list.ts';

export interface Choice {
  /** Names to run; undefined: all. */
  readonly only?: readonly string[] | undefined;
  readonly without: readonly string[];
}

/** A measurement that is not made. */
export interface LeftOut {
  readonly measurement: Measurement;
  readonly reason: string;
}

export interface Plan {
  readonly run: readonly Measurement[];
  readonly leftOut: readonly LeftOut[];
}

/** Multiple of the expected time after which a measurement counts as hanging. */
const PATIENCE = 3;
/** Least time limit, minutes: a machine under load starts programs slowly. */
const LEAST_LIMIT = 2;

/**
 * Sorts out what cannot run here or is not wanted. Time is judged later, by `timeFor`, because only
 * then it is known how long the earlier ones took.
 *
 * @param lacking returns the reason why a need is not met; undefined if it is
 */
export function planned(
  all: readonly Measurement[],
  { only, without }: Choice,
  lacking: (need: Measurement['needs'][number]) => string | undefined,
): Plan {
  const run: Measurement[] = [];
  const leftOut: LeftOut[] = [];
  for (const measurement of all) {
    const { name, needs, byHand } = measurement;
    const missing = () => needs.map(lacking).filter((reason) => reason !== undefined);
    const reason =
      only !== undefined && !only.includes(name)
        ? 'not named with --only'
        : without.includes(name)
          ? 'left out with --without'
          : (byHand ?? missing()[0]);
    if (reason === undefined) run.push(measurement);
    else leftOut.push({ measurement, reason });
  }
  return { run, leftOut };
}

/** Returns the first name that no measurement has; undefined if all are known. */
export function unknownName(all: readonly Measurement[], choice: Choice): string | undefined {
  const asked = [...(choice.only ?? []), ...choice.without];
  return asked.find((name) => !all.some((measurement) => measurement.name === name));
}

/**
 * Decides whether a measurement begins now.
 *
 * @param left minutes that are left for all
 * @returns its time limit in minutes, or the reason why it is left out
 */
export function timeFor(
  { minutes }: Pick<Measurement, 'minutes'>,
  left: number,
): { readonly limit: number } | { readonly reason: string } {
  if (minutes > left) {
    const rest = Math.max(0, left).toFixed(1);
    return { reason: `takes about ${minutes} min, and ${rest} were left (--minutes)` };
  }
  return { limit: Math.min(left, Math.max(LEAST_LIMIT, PATIENCE * minutes)) };
}
