/**
 * Runs a soak, prints its page, and ends with status 1 at wrong bytes, hangs, losses, or if a program
 * ends by itself. Ends early when its standard input does; SIGINT and SIGTERM have the same effect.
 */

import { parseArgs } from 'node:util';
import { temporaryFolder } from '../fixtures/programs/processes.ts';
import { FAULT_KINDS, type FaultKind } from './account/fault-plan.ts';
import { isClean, soakPage } from './account/soak-page.ts';
import { PARTS, type Part, runSoak } from './soak-run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    edges: { type: 'string', default: '4' },
    entries: { type: 'string', default: '5000' },
    without: { type: 'string', multiple: true, default: [] },
    'without-fault': { type: 'string', multiple: true, default: [] },
    'in-order': { type: 'boolean', default: false },
    'hang-after': { type: 'string', default: '120' },
  },
});

function numberOf(
  name: 'minutes' | 'seed' | 'edges' | 'entries' | 'hang-after',
  least: number,
): number {
  const number = Number(values[name]);
  if (number >= least) return number;
  throw new Error(`--${name}: "${values[name]}" is not a number from ${least} on`);
}

/** Reads an option whose values are words of a list. */
function wordsOf<T extends string>(
  name: 'without' | 'without-fault',
  known: readonly T[],
): ReadonlySet<T> {
  const isKnown = (text: string): text is T => (known as readonly string[]).includes(text);
  const unknown = values[name].find((word) => !isKnown(word));
  if (unknown === undefined) return new Set(values[name].filter(isKnown));
  throw new Error(`--${name}: "${unknown}" is none of ${known.join(', ')}`);
}

const without = wordsOf<Part>('without', PARTS);
const withoutFaults = wordsOf<FaultKind>('without-fault', FAULT_KINDS);

const early = new AbortController();
const end = () => early.abort();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
process.stdin.resume().once('end', end).once('error', end);

const folder = await temporaryFolder();
try {
  const seed = Math.trunc(numberOf('seed', 0));
  process.stderr.write(`soak: --seed ${seed}\n`);
  const { ledger, facts } = await runSoak({
    folder: folder.path,
    seed,
    minutes: numberOf('minutes', 0),
    edges: numberOf('edges', 2),
    entries: numberOf('entries', 0),
    without,
    withoutFaults,
    inOrder: values['in-order'],
    hangMs: numberOf('hang-after', 1) * 1000,
    signal: early.signal,
    onEvent: (line) => process.stderr.write(`${line}\n`),
  });
  process.stdout.write(soakPage(ledger, facts));
  process.exitCode = isClean(ledger) ? 0 : 1;
} finally {
  await folder.remove();
  process.stdin.destroy();
}
