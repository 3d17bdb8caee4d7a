/** The form of an experiment. */

import type { Findings } from './report.ts';

export interface ExperimentOptions {
  /** Seed of everything that is drawn at random. */
  readonly seed: number;
  /** How often to measure. */
  readonly runs: number;
  /** Parts of the experiment to measure, by the beginning of their names; undefined: all. */
  readonly only: readonly string[] | undefined;
  /**
   * In slow motion: rates divided and delays multiplied by this, for machines with too few
   * processors for the experiment; 1 is normal. Only experiments that say so use it.
   */
  readonly slow: number;
  /** Reports progress. */
  readonly say: (line: string) => void;
}

/**
 * Measures the configured number of times, with consecutive seeds.
 *
 * @param measure one whole run
 * @returns the results of all runs
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
  /** On the command line, and of the files. */
  readonly name: string;
  readonly title: string;
  /** How often to measure unless told otherwise. */
  readonly runs: number;
  /** Names of parts that can be measured alone, where there are some. */
  readonly parts?: readonly string[];
  /** It takes a laboratory: Linux, and root. */
  readonly needsLab: boolean;
  readonly run: (options: ExperimentOptions) => Promise<Findings>;
}
