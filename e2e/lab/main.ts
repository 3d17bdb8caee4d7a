/** `npm run -s lab -- EXPERIMENT [options]`: runs experiments, and writes their results. */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Experiment } from './experiment.ts';
import { anycast } from './experiments/anycast.ts';
import { arrivals } from './experiments/arrivals.ts';
import { buffer } from './experiments/buffer.ts';
import { check } from './experiments/check.ts';
import { chunks } from './experiments/chunks.ts';
import { crowd } from './experiments/crowd.ts';
import { depots } from './experiments/depots.ts';
import { nodes } from './experiments/nodes.ts';
import { paths } from './experiments/paths.ts';
import { replicas } from './experiments/replicas.ts';
import { replicasReal } from './experiments/replicas-real.ts';
import { resets, resetsGrid } from './experiments/resets.ts';
import { streaming } from './experiments/streaming.ts';
import { vanished } from './experiments/vanished.ts';
import { windows } from './experiments/windows.ts';
import { labImpossible } from './lab.ts';
import { writeReport } from './report.ts';

const EXPERIMENTS: readonly Experiment[] = [
  check,
  crowd,
  buffer,
  replicas,
  replicasReal,
  streaming,
  nodes,
  paths,
  resets,
  resetsGrid,
  vanished,
  anycast,
  arrivals,
  chunks,
  windows,
  depots,
];

const RESULTS = fileURLToPath(new URL('results', import.meta.url));
const SEED = 1;
const USAGE = 2;
/** Exit status by which test programs report that they could not run. */
const IMPOSSIBLE = 77;

const HELP = `npm run -s lab -- EXPERIMENT... [--runs N] [--seed N] [--out FOLDER] [--only PART]... [--slow N]

${EXPERIMENTS.map(({ name, title }) => `  ${name.padEnd(14)} ${title}`).join('\n')}

--only picks the parts of an experiment whose names begin with PART.
--slow makes rates N times lower and delays N times longer, for too few processors (crowd).
Each writes NAME.json, NAME.md and pictures into the folder (${RESULTS}).
Most need root, for network namespaces; the machine's own network is left alone.
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      seed: { type: 'string', default: String(SEED) },
      only: { type: 'string', multiple: true },
      slow: { type: 'string', default: '1' },
      out: { type: 'string', default: RESULTS },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help || positionals.length === 0) {
    process.stdout.write(HELP);
    return values.help ? 0 : USAGE;
  }
  const runs = values.runs === undefined ? undefined : Number(values.runs);
  const seed = Number(values.seed);
  const slow = Number(values.slow);
  if (!(runs === undefined || (Number.isInteger(runs) && runs > 0)) || !Number.isInteger(seed)) {
    process.stderr.write('--runs takes a number of at least 1, --seed a whole number\n');
    return USAGE;
  }
  if (!(slow >= 1)) {
    process.stderr.write('--slow takes a number of at least 1\n');
    return USAGE;
  }
  const chosen: Experiment[] = [];
  for (const asked of positionals) {
    const experiment = EXPERIMENTS.find(({ name }) => name === asked);
    if (experiment === undefined) {
      process.stderr.write(`Unknown experiment "${asked}".\n\n${HELP}`);
      return USAGE;
    }
    chosen.push(experiment);
  }
  const parts = chosen.flatMap((experiment) => experiment.parts ?? []);
  const unknown = values.only?.find((part) => !parts.some((name) => name.startsWith(part)));
  if (unknown !== undefined) {
    process.stderr.write(
      `No part begins with "${unknown}". Parts: ${parts.join('; ') || 'none'}\n`,
    );
    return USAGE;
  }
  const say = (line: string) => process.stderr.write(`${line}\n`);
  for (const experiment of chosen) {
    const { name, title } = experiment;
    const reason = experiment.needsLab ? labImpossible() : undefined;
    if (reason !== undefined) {
      say(`${name}: no laboratory here: ${reason}`);
      return IMPOSSIBLE;
    }
    say(`${name}: seed ${seed}`);
    const times = runs ?? experiment.runs;
    const findings = await experiment.run({ seed, runs: times, only: values.only, slow, say });
    const report = { experiment: name, title, seed, runs: times, ...findings };
    process.stdout.write(`${await writeReport(values.out, report)}\n`);
  }
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS')) throw error;
  process.stderr.write(`${(error as Error).message}\n\n${HELP}`);
  process.exitCode = USAGE;
}
