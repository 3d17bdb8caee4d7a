/**
 * Runs a soak, prints its page, and ends with status 1 at wrong bytes, hangs, losses, or if a program
 * ends by itself. Ends early when its standard input does; SIGINT and SIGTERM have the same effect.
 */

import { parseArgs } from 'node:util';
import { temporaryFolder } from '../fixtures/programs/processes.ts';
import { isClean, soakPage } from './account/soak-page.ts';
import { PARTS, type Part, runSoak } from './soak-run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    edges: { type: 'string', default: '4' },
    entries: { type: 'string', default: '5000' },
    without: { type: 'string', multiple: true, default: [] },
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

const isPart = (text: string): text is Part => (PARTS as readonly string[]).includes(text);
const unknown = values.without.find((part) => !isPart(part));
if (unknown !== undefined)
  throw new Error(`--without: "${unknown}" is none of ${PARTS.join(', ')}`);

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
    without: new Set(values.without.filter(isPart)),
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
