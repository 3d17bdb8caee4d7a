/**
 * `npm run -s sim -- <experiment> [--seed N] [--nodes N] [--chunks N] [--json] [--out FOLDER]`:
 * simulates networks that are too large to set up, in virtual time. The decisions come from the
 * modules that the edges and the download engine use. One seed gives the same figures in every run.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ahead } from './experiments/ahead.ts';
import { balance } from './experiments/balance.ts';
import { churn } from './experiments/churn.ts';
import { copies } from './experiments/copies.ts';
import { dying } from './experiments/dying.ts';
import { failures } from './experiments/failures.ts';
import { flash } from './experiments/flash.ts';
import { membershipCosts } from './experiments/membership.ts';
import { order } from './experiments/order.ts';
import { retries } from './experiments/retries.ts';
import { silence } from './experiments/silence.ts';
import { thin } from './experiments/thin.ts';
import { markdown, type Report } from './report.ts';

export interface Settings {
  readonly seed: number;
  readonly nodes?: number | undefined;
  readonly chunks?: number | undefined;
  readonly clients?: number | undefined;
  /** True: bytes travel in whole chunks (`wire.ts`); default: only in the largest runs. */
  readonly coarse?: boolean | undefined;
  /** True: clients use the download scheduler and several edges at once, in flash and failures. */
  readonly scheduled?: boolean | undefined;
}

interface Experiment {
  readonly title: string;
  run(settings: Settings): Promise<Report> | Report;
}

const EXPERIMENTS: ReadonlyMap<string, Experiment> = new Map([
  ['copies', { title: 'bytes the origin sends where views of the network differ', run: copies }],
  ['ahead', { title: 'chunks that edges hold for slow clients', run: ahead }],
  ['balance', { title: 'chunks and load per node', run: balance }],
  ['churn', { title: 'nodes that come and go under downloads', run: churn }],
  ['dying', { title: 'a share of the nodes that dies at once', run: dying }],
  ['flash', { title: 'very many clients at once', run: flash }],
  ['failures', { title: 'a slow origin, slow nodes, a network in two parts', run: failures }],
  ['order', { title: 'delivery in and out of order; all at once, one by one, stored', run: order }],
  ['membership', { title: 'heartbeats, and dead nodes that they find', run: membershipCosts }],
  ['retries', { title: 'chunks that are requested again, by patience', run: retries }],
  ['silence', { title: 'clients that vanish, and clients that only seem to', run: silence }],
  ['thin', { title: 'a few clients before an origin with a thin line, by chunk size', run: thin }],
]);

const HELP = `npm run -s sim -- EXPERIMENT [--seed N] [--nodes N] [--chunks N] [--clients N] [--coarse | --fine]
  [--scheduled] [--json] [--out FOLDER]

${[...EXPERIMENTS].map(([name, { title }]) => `  ${name.padEnd(10)} ${title}`).join('\n')}

Prints a table in Markdown, or JSON; --out writes both into a folder. Large networks take minutes.
`;

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: '1' },
      nodes: { type: 'string' },
      chunks: { type: 'string' },
      clients: { type: 'string' },
      coarse: { type: 'boolean' },
      fine: { type: 'boolean' },
      scheduled: { type: 'boolean' },
      out: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [name = '', ...rest] = positionals;
  const experiment = EXPERIMENTS.get(name);
  if (experiment === undefined || rest.length > 0) {
    const known = [...EXPERIMENTS.keys()].join(', ');
    process.stderr.write(`Name one experiment: ${known}\n`);
    return 2;
  }
  const settings = {
    seed: count(values.seed, 'seed') as number,
    nodes: count(values.nodes, 'nodes'),
    chunks: count(values.chunks, 'chunks'),
    clients: count(values.clients, 'clients'),
    coarse: values.coarse ?? (values.fine === true ? false : undefined),
    scheduled: values.scheduled,
  };
  process.stderr.write(`${name}, seed ${settings.seed} ...\n`);
  const startedAt = performance.now();
  const report = await experiment.run(settings);
  const took = Math.round((performance.now() - startedAt) / 1000);
  const { maxRSS } = process.resourceUsage();
  process.stderr.write(`${name}: ${took} s, ${Math.round(maxRSS / 1024)} MB at most\n`);
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  const options = given.map(([key, value]) => option(key, value)).join(' ');
  const json = `${JSON.stringify({ experiment: name, ...settings, ...report }, null, 2)}\n`;
  const text = markdown(report, `npm run -s sim -- ${name} ${options}`);
  process.stdout.write(values.json ? json : text);
  if (values.out !== undefined) {
    mkdirSync(values.out, { recursive: true });
    writeFileSync(join(values.out, `${name}.json`), json);
    writeFileSync(join(values.out, `${name}.md`), text);
  }
  return 0;
}

function option(key: string, value: number | boolean | undefined): string {
  return value === false ? '--fine' : value === true ? `--${key}` : `--${key} ${value}`;
}

/** Reads a whole number of at least 1; undefined if the option is missing. */
function count(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new RangeError(`--${name} must be a whole number of at least 1, not "${value}"`);
  }
  return number;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
