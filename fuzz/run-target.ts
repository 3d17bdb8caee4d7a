/** Runs a target under a time limit that only a reader that hangs can exceed. */

import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import type { FuzzFailure, FuzzTarget } from './target.ts';

/**
 * Longest time for one batch of cases or one long case. Work that grows in proportion to its input
 * takes seconds; work that grows with its square takes hours.
 */
const HANG_MS = 60_000;
/** Longest literal that a report shows, characters. */
const MAX_SHOWN = 4000;

/**
 * Tries random cases of a target.
 *
 * @returns a report of the first failure, minimised; undefined if every case holds
 */
export function runCases(target: FuzzTarget, cases: number, seed: number): string | undefined {
  let current: unknown;
  let failure: FuzzFailure | undefined;
  const again = `npm run bench -- fuzz --target ${target.name} --seed ${seed}`;
  const hung = interrupted(() => {
    failure = target.run({
      cases,
      seed,
      onCase: (value) => {
        current = value;
      },
    });
  });
  if (hung)
    return `${target.name} hangs, seed ${seed}:\n${cut(fc.stringify(current))}\nagain: ${again}`;
  if (failure === undefined) return undefined;
  const { literal, error, after } = failure;
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${target.name}, seed ${seed}, case ${after}:\n${cut(literal)}\n${what}\nagain: ${again}`;
}

/** Tries one long case of a target. @returns as `runCases` */
export function runLongCase(target: FuzzTarget, name: string): string | undefined {
  try {
    const hung = interrupted(() => target.runLong(name));
    return hung ? `${target.name} hangs with the long case "${name}"` : undefined;
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return `${target.name}, long case "${name}":\n${cut(what)}`;
  }
}

/** Runs synchronous work; true if it had to be interrupted. */
function interrupted(work: () => void): boolean {
  try {
    runInNewContext('work()', { work }, { timeout: HANG_MS });
    return false;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return true;
    throw error;
  }
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN
    ? text
    : `${text.slice(0, MAX_SHOWN)} ... (${text.length} characters)`;
}
