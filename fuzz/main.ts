/**
 * `npm run bench -- fuzz`: runs all fuzz targets with any number of random cases. Prints its
 * progress, and each failure as a literal to add to the target's `found`.
 */

import { readdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { runCases, runLongCase } from './run-target.ts';
import type { FuzzTarget } from './target.ts';

/** Cases of one batch; each batch has its own seed. */
const BATCH = 20_000;
const USAGE = 'npm run bench -- fuzz [--cases N] [--seed S] [--target NAME]';

/** Loads all targets, by name. */
async function allTargets(): Promise<Map<string, FuzzTarget>> {
  const folder = new URL('targets/', import.meta.url);
  const found = new Map<string, FuzzTarget>();
  for (const file of (await readdir(folder)).sort()) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
    const { targets } = (await import(new URL(file, folder).href)) as { targets: FuzzTarget[] };
    for (const target of targets) found.set(target.name, target);
  }
  return found;
}

function wholeNumber(text: string, what: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${what} is not a whole number`);
  return number;
}

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      cases: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      target: { type: 'string', multiple: true },
    },
  });
  const cases = wholeNumber(values.cases, '--cases');
  const seed = wholeNumber(values.seed, '--seed');
  const known = await allTargets();
  const names = values.target ?? [...known.keys()];
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    process.stderr.write(`No target "${unknown}". Known: ${[...known.keys()].join(', ')}\n`);
    return 2;
  }
  process.stdout.write(`Seed ${seed}, ${cases} cases each of ${names.length} targets.\n\n`);
  process.stdout.write('| target | cases | µs per case | outcome |\n|---|--:|--:|---|\n');
  let failures = 0;
  for (const name of names) {
    const target = known.get(name) as FuzzTarget;
    const started = performance.now();
    let report: string | undefined;
    let done = 0;
    for (const long of target.longCases) report ??= await runLongCase(target, long);
    for (let batch = 0; done < cases && report === undefined; batch++) {
      const count = Math.min(BATCH, cases - done);
      report = await runCases(target, count, (seed + batch) % 2 ** 31);
      done += count;
    }
    const each = ((performance.now() - started) * 1000) / Math.max(1, done);
    process.stdout.write(
      `| ${name} | ${done} | ${each.toFixed(0)} | ${report ? 'FAILS' : 'holds'} |\n`,
    );
    if (report !== undefined) {
      failures++;
      process.stderr.write(`\n${report}\n\n`);
    }
  }
  return failures === 0 ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\nUsage: ${USAGE}\n`);
  process.exitCode = 2;
}
