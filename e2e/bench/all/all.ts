/**
 * `npm run bench -- all [--to FOLDER] [--only NAME,...] [--without NAME,...] [--minutes N] [--list]`:
 * runs the measurements of the list one after the other, and writes a page with their tables and
 * pictures. The page is written anew after each of them, so that nothing is lost if the run ends.
 */

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { barsSvg } from '../../charts/bars.ts';
import type { BarChart } from '../../charts/chart.ts';
import { MEASUREMENTS, type Measurement } from './list.ts';
import { machineFacts } from './machine.ts';
import { lacking } from './needs.ts';
import { type Picture, pageOf, type Section } from './page.ts';
import { type LeftOut, planned, timeFor, unknownName } from './plan.ts';
import { runOne, typed } from './run-one.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const RESULTS = join(ROOT, 'e2e/bench/results');
const PAGE = 'README.md';
const DEFAULT_MINUTES = 60;
const MINUTE_MS = 60_000;
const USAGE = 2;
/** Exit status of programs that SIGINT ended. */
const STOPPED = 130;

const HELP = `npm run bench -- all [--to FOLDER] [--only NAME,...] [--without NAME,...] [--minutes N] [--list]

Runs the measurements one after the other, and writes a page with tables and pictures.
--to FOLDER   an empty folder for the page (default: a new one in ${RESULTS})
--minutes N   time for all, ${DEFAULT_MINUTES} by default; what does not fit is named on the page
--list        only shows what there is, how long it takes, and what cannot run here
Ctrl-C ends the running measurement; the page has those that were made.
`;

/** Runs the measurements. @returns the exit status: 0 if all that began have a result */
export async function all(args: readonly string[]): Promise<number> {
  const options = optionsOf(args);
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n\n${HELP}`);
    return USAGE;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const plan = planned(MEASUREMENTS, options, lacking);
  if (options.list) {
    process.stdout.write(listed(plan.run, plan.leftOut));
    return 0;
  }
  const folder = options.to ?? join(RESULTS, stamp(new Date()));
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) {
    process.stderr.write(`${folder} is not empty: name a new folder with --to.\n`);
    return USAGE;
  }
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  try {
    const sections = await measured(plan, folder, options, stop.signal);
    process.stdout.write(`${summary(sections)}\nThe page: ${join(folder, PAGE)}\n`);
    if (stop.signal.aborted) return STOPPED;
    return sections.length > 0 && sections.every(({ outcome }) => outcome.ending === 'done')
      ? 0
      : 1;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
  }
}

interface Options {
  readonly to: string | undefined;
  readonly only: readonly string[] | undefined;
  readonly without: readonly string[];
  readonly minutes: number;
  readonly list: boolean;
  readonly help: boolean;
  /** The command as it was typed, for the page. */
  readonly command: string;
}

/** Reads the options. @returns them, or what is wrong */
function optionsOf(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        to: { type: 'string' },
        only: { type: 'string', multiple: true },
        without: { type: 'string', multiple: true, default: [] },
        minutes: { type: 'string', default: String(DEFAULT_MINUTES) },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const names = (texts: readonly string[]) => texts.flatMap((text) => text.split(','));
    const only = values.only === undefined ? undefined : names(values.only);
    const without = names(values.without);
    const minutes = Number(values.minutes);
    if (!(minutes > 0)) return '--minutes takes a number above 0';
    const unknown = unknownName(MEASUREMENTS, { only, without });
    if (unknown !== undefined) {
      return `Unknown measurement "${unknown}". Known: ${MEASUREMENTS.map(({ name }) => name).join(', ')}`;
    }
    const to =
      values.to === undefined
        ? undefined
        : resolve(process.env.INIT_CWD ?? process.cwd(), values.to);
    const command = ['npm run bench -- all', ...args].join(' ');
    return { to, only, without, minutes, list: values.list, help: values.help, command };
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS')) throw error;
    return (error as Error).message;
  }
}

/** Makes the measurements, and writes the page after each. @returns those that began */
async function measured(
  plan: ReturnType<typeof planned>,
  folder: string,
  { minutes, command }: Options,
  stop: AbortSignal,
): Promise<readonly Section[]> {
  const facts = machineFacts(ROOT, new Date());
  const root = relative(folder, ROOT).split(sep).join('/');
  const startedAt = performance.now();
  const sections: Section[] = [];
  const late: LeftOut[] = [];
  const write = (waiting: readonly Measurement[]) => {
    const order = (one: LeftOut) => MEASUREMENTS.indexOf(one.measurement);
    const leftOut = [...plan.leftOut, ...late].sort((a, b) => order(a) - order(b));
    const names = waiting.map(({ name }) => name);
    const page = pageOf({ command, facts, sections, leftOut, waiting: names, root });
    return writeFile(join(folder, PAGE), page);
  };
  await write(plan.run);
  for (const [i, measurement] of plan.run.entries()) {
    const left = minutes - (performance.now() - startedAt) / MINUTE_MS;
    const time = stop.aborted
      ? { reason: 'the run was stopped before' }
      : timeFor(measurement, left);
    if ('reason' in time) late.push({ measurement, reason: time.reason });
    else {
      process.stderr.write(`\n== ${measurement.name}: ${typed(measurement)}\n`);
      const outcome = await runOne(measurement, { root: ROOT, folder, limit: time.limit, stop });
      process.stderr.write(
        `== ${measurement.name}: ${outcome.ending}, ${outcome.minutes.toFixed(1)} min\n`,
      );
      sections.push({ outcome, ...(await drawn(folder, measurement)) });
    }
    await write(plan.run.slice(i + 1));
  }
  return sections;
}

/** Draws the figures that a measurement wrote. @returns its pictures, and the file of the figures */
async function drawn(
  folder: string,
  { name, writes }: Measurement,
): Promise<{ pictures: Picture[]; figures: string | undefined }> {
  const figures = `${name}.json`;
  const json = writes
    ? await readFile(join(folder, figures), 'utf8').catch(() => undefined)
    : undefined;
  if (json === undefined) return { pictures: [], figures: undefined };
  const { charts = [] } = JSON.parse(json) as { charts?: BarChart[] };
  const pictures: Picture[] = [];
  for (const [i, chart] of charts.entries()) {
    const file = `${name}-bars-${i + 1}.svg`;
    await writeFile(join(folder, file), barsSvg(chart));
    pictures.push({ file, chart });
  }
  return { pictures, figures };
}

function listed(run: readonly Measurement[], leftOut: readonly LeftOut[]): string {
  const width = Math.max(...MEASUREMENTS.map(({ name }) => name.length));
  return [
    ...run.map(
      ({ name, minutes, title }) =>
        `${name.padEnd(width)}  ${String(minutes).padStart(4)} min  ${title}`,
    ),
    ...leftOut.map(({ measurement: { name }, reason }) => `${name.padEnd(width)}  not: ${reason}`),
    '',
  ].join('\n');
}

function summary(sections: readonly Section[]): string {
  return sections
    .map(
      ({ outcome: { measurement, ending, minutes } }) =>
        `${measurement.name}: ${ending}, ${minutes.toFixed(1)} min`,
    )
    .join('\n');
}

/** Returns a time as the name of a folder. */
const stamp = (now: Date) => now.toISOString().slice(0, 19).replaceAll(':', '-');
