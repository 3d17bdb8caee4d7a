/**
 * `npm run bench -- hostile [--minutes N] [--seed S] [--workers W] [--without ATTACK]`: an hour of
 * hostile clients beside honest ones. Checks that honest clients keep half of their throughput,
 * that no byte is wrong, that memory is flat after the first ten minutes, and that the number of
 * open files returns to its start.
 */

import { parseArgs } from 'node:util';
import { ATTACKS } from '../fixtures/clients/hostile-attacks.ts';
import {
  type HostileOutcome,
  runHostile,
  type Sample,
  SPARE_DESCRIPTORS,
} from '../fixtures/clients/hostile-run.ts';
import { temporaryFolder } from '../fixtures/programs/processes.ts';

const MiB = 1024 * 1024;
const MINUTE_MS = 60_000;
/** Longest time for memory to settle; in shorter runs, a fifth of the run. */
const SETTLE_MS = 10 * MINUTE_MS;
/** Most growth of average memory between the halves of the time after settling. */
const FLAT_SHARE = 1.1;
const FLAT_BYTES = 32 * MiB;

interface Verdict {
  readonly what: string;
  readonly figures: string;
  readonly holds: boolean;
}

/** Runs the attacks. @returns the exit status: 0 if everything holds */
export async function hostile(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      workers: { type: 'string', default: '1' },
      without: { type: 'string', multiple: true, default: [] },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0) || !Number.isSafeInteger(seed))
    throw new Error('--minutes and --seed are numbers');
  const attacks = Object.keys(ATTACKS).filter((name) => !values.without.includes(name));
  const hostileMs = minutes * MINUTE_MS;
  const folder = await temporaryFolder();
  process.stdout.write(`Seed ${seed}, ${minutes} minutes of: ${attacks.join(', ')}.\n`);
  let shownAt = 0;
  try {
    const outcome = await runHostile({
      folder: folder.path,
      seed,
      attacks,
      clients: 3,
      calmMs: Math.max(10_000, Math.min(MINUTE_MS, hostileMs / 6)),
      hostileMs,
      edge: ['--workers', values.workers],
      onSample: (sample) => {
        if (performance.now() - shownAt < MINUTE_MS / 2) return;
        shownAt = performance.now();
        process.stderr.write(`${lineOf(sample)}\n`);
      },
    });
    const verdicts = judge(outcome, hostileMs);
    process.stdout.write(report(outcome, verdicts));
    return verdicts.every(({ holds }) => holds) ? 0 : 1;
  } finally {
    await folder.remove();
  }
}

function judge(outcome: HostileOutcome, hostileMs: number): Verdict[] {
  const { calmRate, hostileRate, honest, descriptorsBefore, descriptorsAfter } = outcome;
  const settleMs = Math.min(SETTLE_MS, hostileMs / 5);
  const rest = outcome.samples.filter(({ at }) => at >= settleMs);
  const half = Math.floor(rest.length / 2);
  const [early, late] = [averageOf(rest.slice(0, half)), averageOf(rest.slice(half))];
  const mib = (bytes: number) => `${(bytes / MiB).toFixed(0)} MiB`;
  return [
    { what: 'the edge is alive', figures: outcome.log.slice(-3).join(' / '), holds: outcome.alive },
    {
      what: 'no wrong byte',
      figures: `${honest.requests} requests, ${honest.failures} refused or cut off, ${honest.wrong.length} wrong ${honest.wrong[0] ?? ''}`,
      holds: honest.wrong.length === 0,
    },
    {
      what: 'honest clients keep half',
      figures: `${mib(calmRate)}/s before, ${mib(hostileRate)}/s beside strangers (${((100 * hostileRate) / calmRate).toFixed(0)}%)`,
      holds: hostileRate >= calmRate / 2,
    },
    {
      what: 'memory is flat',
      figures: `resident ${mib(early)}, then ${mib(late)} on average; ${mib(Math.max(...outcome.samples.map((s) => s.residentBytes)))} at most`,
      holds: late <= early * FLAT_SHARE + FLAT_BYTES,
    },
    {
      what: 'open files are back',
      figures: `${descriptorsBefore} before, ${Math.max(...outcome.samples.map((s) => s.descriptors))} at most, ${descriptorsAfter} after`,
      holds: descriptorsAfter <= descriptorsBefore + SPARE_DESCRIPTORS,
    },
    {
      what: 'transfers are back',
      figures: `${outcome.transfersAfter} active`,
      holds: outcome.transfersAfter === 0,
    },
    {
      what: 'chunk memory is back',
      figures: `${mib(outcome.chunkBytesAfter)} on loan`,
      holds: outcome.chunkBytesAfter === 0,
    },
  ];
}

function report(outcome: HostileOutcome, verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(
    ({ what, figures, holds }) => `| ${what} | ${figures} | ${holds ? 'holds' : 'FAILS'} |`,
  );
  const shots = Object.entries(outcome.attacks).map(
    ([name, { fired, leftOut, refused }]) => `| ${name} | ${fired} | ${leftOut} | ${refused} |`,
  );
  const errors = Object.entries(outcome.errors).map(([code, count]) => `${code} ${count}`);
  return [
    '',
    '| what must hold | figures | verdict |',
    '|---|---|---|',
    ...rows,
    '',
    '| attack | fired | left out | refused |',
    '|---|--:|--:|--:|',
    ...shots,
    '',
    `Answered with errors: ${errors.join(', ') || 'none'}.`,
    '',
  ].join('\n');
}

function lineOf({ at, residentBytes, descriptors, honest }: Sample): string {
  return `${(at / 1000).toFixed(0)} s: ${(residentBytes / MiB).toFixed(0)} MiB resident, ${descriptors} open files, ${honest.requests} honest requests, ${honest.failures} failed, ${honest.wrong.length} wrong`;
}

function averageOf(samples: readonly Sample[]): number {
  return (
    samples.reduce((sum, { residentBytes }) => sum + residentBytes, 0) / Math.max(1, samples.length)
  );
}
