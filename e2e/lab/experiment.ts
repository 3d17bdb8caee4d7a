/** The form of an experiment. */

import type { Findings } from './report.ts';

export interface ExperimentOptions {
  /** Seed of all random choices. */
  readonly seed: number;
  /** Number of measurements. */
  readonly runs: number;
  /** Parts to measure, by the beginnings of their names; undefined: all. */
  readonly only: readonly string[] | undefined;
  /**
   * Slow-motion factor, which divides rates and multiplies delays, for machines with too few
   * processors; 1 is full speed. Only experiments that say so apply it.
   */
  readonly slow: number;
  /** Reports progress. */
  readonly say: (line: string) => void;
}

/**
 * Repeats a measurement for the number of runs, with consecutive seeds.
 *
 * @param measure measures one whole run
 * @returns results of all runs
 */
export async function repeated<T>(
  { seed, runs, say }: ExperimentOptions,
  measure: (seed: number, say: ExperimentOptions['say']) => Promise<readonly T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (let run = 0; run < runs; run++) {
    const which = `run ${run + 1} of ${runs}`;
    all.push(...(await measure(seed + run, (line) => say(`${which}: ${line}`))));
  }
  return all;
}

export interface Experiment {
  /** Name on the command line and of the files. */
  readonly name: string;
  readonly title: string;
  /** Default number of runs. */
  readonly runs: number;
  /** Names of the parts that can be measured alone, if any. */
  readonly parts?: readonly string[];
  /** True if it needs a laboratory: Linux, and root. */
  readonly needsLab: boolean;
  readonly run: (options: ExperimentOptions) => Promise<Findings>;
}
