/** The form of an experiment. */

import type { Findings } from './report.ts';

export interface ExperimentOptions {
  /** Seed of everything that is drawn at random. */
  readonly seed: number;
  /** How often to measure. */
  readonly runs: number;
  /** Parts of the experiment to measure, by what their names begin with; undefined: all. */
  readonly only: readonly string[] | undefined;
  /**
   * In slow motion: rates so many times lower, ways so many times longer, for machines whose processors
   * are too few for the experiment; 1 is as it is. Only experiments that say so heed it.
   */
  readonly slow: number;
  /** Tells those who wait how far it is. */
  readonly say: (line: string) => void;
}

/**
 * Measures as often as it is to be measured, with seeds one after the other.
 *
 * @param measure one whole run
 * @returns what all runs have brought
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
  /** Names of what can be measured alone, where it has such parts. */
  readonly parts?: readonly string[];
  /** It takes a laboratory: Linux, and root. */
  readonly needsLab: boolean;
  readonly run: (options: ExperimentOptions) => Promise<Findings>;
}
