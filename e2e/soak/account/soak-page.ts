/** Writes the account of a soak as a page in Markdown. */

import { type Ledger, shortened } from './ledger.ts';
import { type Life, longestLives } from './slopes.ts';

const MiB = 1024 * 1024;
const MINUTE_MS = 60_000;

/** Figures of a soak that the account does not have. */
export interface PageFacts {
  readonly seed: number;
  readonly ms: number;
  readonly originRequests: number;
  readonly originBytes: number;
  /** Parts that were left out, and why. */
  readonly leftOut: readonly string[];
}

/** Returns true if a soak shows no wrong byte, no hang, no loss, and no program that died by itself. */
export function isClean({ wrong, hangs, lost, deaths }: Ledger): boolean {
  return [wrong, hangs, lost, deaths].every((list) => list.length === 0);
}

/** Formats the page. */
export function soakPage(ledger: Ledger, facts: PageFacts): string {
  const { seed, ms, originRequests, originBytes, leftOut } = facts;
  const all = Object.values(ledger.done).reduce((sum, count) => sum + count, 0);
  const { unexplained, failures } = ledger;
  const lines = [
    `## Soak of ${(ms / MINUTE_MS).toFixed(1)} minutes, seed ${seed}`,
    '',
    '| what | figure |',
    '|---|---|',
    `| wrong bytes | ${ledger.wrong.length} |`,
    `| hangs | ${ledger.hangs.length} |`,
    `| lost downloads and files | ${ledger.lost.length} |`,
    `| programs that ended by themselves | ${ledger.deaths.length} |`,
    `| troubles of the soak itself | ${ledger.troubles.length} |`,
    `| operations whose bytes were compared | ${all}: ${countsOf(Object.entries(ledger.done))} |`,
    `| bytes compared | ${mib(ledger.bytes)} |`,
    `| faults | ${countsOf([...ledger.faultCounts])} |`,
    `| failures that a fault explains | ${failures.length - unexplained.length} |`,
    `| failures that no fault explains | ${unexplained.length} |`,
    `| requests to the origin | ${originRequests}, ${mib(originBytes)} |`,
    ...leftOut.map((what) => `| left out | ${what} |`),
    '',
    ...trends(longestLives(ledger.samples)),
    ...list('Failures by code', byCode(ledger)),
    ...list('Wrong bytes', ledger.wrong),
    ...list('Hangs', ledger.hangs),
    ...list('Lost', ledger.lost),
    ...list('Ended by themselves', ledger.deaths),
    ...list('Troubles', ledger.troubles),
    ...list(
      'Failures that no fault explains',
      unexplained.map((failure) => ledger.wordsOf(failure)),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function byCode({ failures }: Ledger): string[] {
  const codes = Map.groupBy(failures, ({ work, code }) => `${work} ${code}`);
  return [...codes].map(([code, some]) => `${code}: ${some.length}`).toSorted();
}

function trends(lives: readonly Life[]): string[] {
  if (lives.length === 0) return [];
  const rows = lives.map(({ name, ms, residentBytes, descriptors }) =>
    [
      '',
      name,
      (ms / MINUTE_MS).toFixed(1),
      mib(residentBytes.mean),
      mib(residentBytes.most),
      `${(residentBytes.perMinute / MiB).toFixed(2)} MiB`,
      descriptors.mean.toFixed(0),
      descriptors.most.toFixed(0),
      descriptors.perMinute.toFixed(2),
      '',
    ]
      .join(' | ')
      .trim(),
  );
  return [
    'The longest life of each process, without its first third:',
    '',
    '| process | minutes | resident | most | per minute | open files | most | per minute |',
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows,
    '',
  ];
}

function list(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return [`${title}:`, '', ...shortened(lines).map((line) => `- ${line}`), ''];
}

function countsOf(counts: readonly (readonly [string, number])[]): string {
  return counts.map(([name, count]) => `${name} ${count}`).join(', ') || 'none';
}

function mib(bytes: number): string {
  return `${(bytes / MiB).toFixed(0)} MiB`;
}
