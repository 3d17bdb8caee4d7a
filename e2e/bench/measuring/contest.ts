/** Runs two sides under the same loads, in turn, so that a disturbance affects both. */

import { type Load, type Sample, type Side, sample } from './measure.ts';
import type { Stage } from './stage.ts';
import { median, type Row } from './table.ts';

const RUNS = 5;

/** A load with a name; its query may differ from run to run. */
export interface Scenario extends Omit<Load, 'query'> {
  readonly name: string;
  readonly query: (run: number) => string;
}

/** Query of scenarios that fetch a cached file: `contest` has both sides fetch it first. */
export const cached = (): string => '';

/** Measures all scenarios. @returns the medians of their runs */
export async function contest(
  stage: Stage,
  ours: Side,
  theirs: Side,
  scenarios: readonly Scenario[],
): Promise<Row[]> {
  for (const side of [ours, theirs]) {
    await sample(stage, side, { clients: side.entries.length, times: 1, query: cached() });
  }
  const rows: Row[] = [];
  for (const { name, clients, times, query } of scenarios) {
    const samples: { ours: Sample[]; theirs: Sample[] } = { ours: [], theirs: [] };
    for (let run = 0; run < RUNS; run++) {
      const load = { clients, times, query: query(run) };
      samples.ours.push(await sample(stage, ours, load));
      samples.theirs.push(await sample(stage, theirs, load));
      process.stderr.write(`${name}: run ${run + 1} of ${RUNS}\n`);
    }
    rows.push({ name, ours: median(samples.ours), theirs: median(samples.theirs) });
  }
  return rows;
}
