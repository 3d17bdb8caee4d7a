/** Runs a target under a time limit that only a reader that hangs can exceed. */

import { setTimeout } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import type { FuzzFailure, FuzzTarget, Later } from './target.ts';

/**
 * Longest time for one batch of cases or one long case. Work that grows in proportion to its input
 * takes seconds, or a minute on a busy machine; work that grows with its square takes hours.
 */
const HANG_MS = 150_000;
/** Longest literal that a report shows, characters. */
const MAX_SHOWN = 4000;

/**
 * Tries random cases of a target.
 *
 * @returns a report of the first failure, minimised; undefined if every case holds
 */
export async function runCases(
  target: FuzzTarget,
  cases: number,
  seed: number,
): Promise<string | undefined> {
  let current: unknown;
  let failure: FuzzFailure | undefined;
  const again = `npm run bench -- fuzz --target ${target.name} --seed ${seed}`;
  const onCase = (value: unknown) => {
    current = value;
  };
  const hung = await interrupted(async () => {
    failure = await target.run({ cases, seed, timeout: HANG_MS, onCase });
  });
  if (hung)
    return `${target.name} hangs, seed ${seed}:\n${cut(fc.stringify(current))}\nagain: ${again}`;
  if (failure === undefined) return undefined;
  const { literal, error, after } = failure;
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${target.name}, seed ${seed}, case ${after}:\n${cut(literal)}\n${what}\nagain: ${again}`;
}

/** Tries one long case of a target. @returns as `runCases` */
export async function runLongCase(target: FuzzTarget, name: string): Promise<string | undefined> {
  try {
    const hung = await interrupted(async () => settled(target.runLong(name)));
    return hung ? `${target.name} hangs with the long case "${name}"` : undefined;
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return `${target.name}, long case "${name}":\n${cut(what)}`;
  }
}

/** Runs the first step of some work; true if it had to be interrupted. Awaits the rest. */
async function interrupted(work: () => Promise<void>): Promise<boolean> {
  try {
    await runInNewContext('work()', { work }, { timeout: HANG_MS });
    return false;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return true;
    throw error;
  }
}

/** Awaits a promise. @throws Error if it has not settled after `HANG_MS` */
async function settled<T>(later: Later<T>): Promise<T> {
  if (!(later instanceof Promise)) return later;
  const abort = new AbortController();
  const late = setTimeout(HANG_MS, undefined, { signal: abort.signal }).then(
    () => {
      throw new Error('it never settles');
    },
    () => later,
  );
  return Promise.race([later, late]).finally(() => abort.abort());
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN
    ? text
    : `${text.slice(0, MAX_SHOWN)} ... (${text.length} characters)`;
}
