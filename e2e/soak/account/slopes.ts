/** Judges whether figures of a process stay flat over time. Pure. */

import type { Millis } from '@millrace/shared/base/clock';

/** Figures of one process at a time. */
export interface Sample {
  readonly at: Millis;
  /** Such as `edge-0`. */
  readonly name: string;
  readonly pid: number;
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** A life of a process, from its warm-up to its end. */
export interface Life {
  readonly name: string;
  readonly ms: Millis;
  readonly samples: number;
  readonly residentBytes: Trend;
  readonly descriptors: Trend;
}

/** A figure over time. */
interface Trend {
  readonly mean: number;
  readonly most: number;
  /** Change per minute, by least squares. */
  readonly perMinute: number;
}

const MINUTE_MS = 60_000;
/** Part of a life that counts as its warm-up, as caches fill and code is compiled. */
const WARM_UP = 1 / 3;
/** Fewest samples after the warm-up that make a trend. */
const FEWEST = 5;

/** Returns the longest life of each process by name, in the order of the names' first samples. */
export function longestLives(samples: readonly Sample[]): Life[] {
  const lives = Map.groupBy(samples, ({ name, pid }) => `${name} ${pid}`);
  const longest = new Map<string, readonly Sample[]>();
  for (const life of lives.values()) {
    const { name } = life[0] as Sample;
    if (lengthOf(life) >= lengthOf(longest.get(name) ?? [])) longest.set(name, life);
  }
  return [...longest].flatMap(([name, life]) => {
    const begin = (life[0] as Sample).at + WARM_UP * lengthOf(life);
    const warm = life.filter(({ at }) => at >= begin);
    if (warm.length < FEWEST) return [];
    const trend = (figure: 'residentBytes' | 'descriptors') =>
      trendOf(warm.map((sample) => [sample.at, sample[figure]] as const));
    return [
      {
        name,
        ms: lengthOf(life),
        samples: warm.length,
        residentBytes: trend('residentBytes'),
        descriptors: trend('descriptors'),
      },
    ];
  });
}

function lengthOf(life: readonly Sample[]): Millis {
  return (life.at(-1)?.at ?? 0) - (life[0]?.at ?? 0);
}

/** Computes mean, maximum and slope of a figure. @param points times and values, one or more */
function trendOf(points: readonly (readonly [at: Millis, value: number])[]): Trend {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanAt, meanValue] = [mean(points.map(([at]) => at)), mean(points.map(([, v]) => v))];
  const along = points.reduce((sum, [at, v]) => sum + (at - meanAt) * (v - meanValue), 0);
  const across = points.reduce((sum, [at]) => sum + (at - meanAt) ** 2, 0);
  return {
    mean: meanValue,
    most: Math.max(...points.map(([, value]) => value)),
    perMinute: across === 0 ? 0 : (along / across) * MINUTE_MS,
  };
}
