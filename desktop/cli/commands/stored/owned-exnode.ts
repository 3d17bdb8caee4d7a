/** The exNode of an owner: a file, which is written anew when what is stored has changed. */

import { createHash } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type ErrorCode, EXIT, MillraceError } from '@millrace/shared/base/errors';
import type { ManagedAllocation } from '@millrace/shared/exnode/allocations';
import { type Exnode, MAX_EXNODE_BYTES } from '@millrace/shared/exnode/exnode';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { lockFile } from '../../../engine/files/file-lock.ts';
import { replaceCopies } from '../../../engine/stored/document-copies.ts';
import type { Outcome } from '../../../engine/stored/manage-allocations.ts';
import type { CliContext, Report } from '../../console/context.ts';
import { writeResult } from '../../console/result-file.ts';
import { readExnode } from '../../options/exnode-request.ts';
import { UsageError } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';

/** Result of what was asked of one depot. */
export interface DepotResult {
  readonly depot: string;
  /** Numbers of allocations. */
  readonly done: number;
  readonly failed: number;
  /** The first failure. */
  readonly code?: ErrorCode | undefined;
  readonly message?: string | undefined;
}

/** Reads an exNode to change it. @throws UsageError for a link; as `readExnode` */
export async function readOwned(given: string, { cwd, signal }: CliContext): Promise<Exnode> {
  if (!/^https?:\/\//i.test(given)) return readExnode(given, cwd, signal);
  throw new UsageError('a link gives no right to change what is stored: name your exNode, a file');
}

/**
 * Changes the exNode of an owner. One command does so at a time: each writes what it has read, and
 * the only list of capabilities would lose what another one has written meanwhile.
 *
 * @param change reads, asks the depots, and writes
 * @throws MillraceError `file-in-use`; errors of `change`
 */
export async function changingOwned<T>(
  given: string,
  { cwd, state }: CliContext,
  change: () => Promise<T>,
): Promise<T> {
  const path = await realpath(resolve(cwd, given)).catch(() => resolve(cwd, given));
  const folder = join(state, 'exnodes');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = createHash('sha256').update(path).digest('hex').slice(0, 32);
  const unlock = await lockFile(join(folder, `${name}.lock`));
  try {
    return await change();
  } finally {
    await unlock();
  }
}

/**
 * Writes an exNode in the place of the earlier one.
 *
 * @throws MillraceError `bad-exnode` if it is too long to be read again; as `writeResult`
 */
export async function writeOwned(given: string, exnode: Exnode, { cwd }: CliContext) {
  const text = formatExnode(exnode, false);
  if (Buffer.byteLength(text) > MAX_EXNODE_BYTES) {
    throw new MillraceError('bad-exnode', 'it would be longer than 16 MiB');
  }
  await writeResult(resolve(cwd, given), text, { overwrites: true, mode: 0o600 });
}

/** A copy of an exNode that could not be replaced. */
export interface StaleResult {
  readonly depot: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/**
 * Gives the copies of an exNode at its depots what the owner's has now, so that links to it and to its
 * file lead to the replicas that there are.
 *
 * @returns the copies that stay as they were, of which people are told
 * @throws MillraceError `interrupted`
 */
export async function replaceShared(
  exnode: Exnode,
  report: Report,
  { signal }: CliContext,
): Promise<StaleResult[]> {
  const stale = await replaceCopies(exnode, signal);
  return stale.map(({ depot, error: { code, message } }) => {
    if (!report.json) report.note(`${depot}: its copy of the exNode stays as it was: ${message}`);
    return { depot, code, message };
  });
}

/** Sums outcomes up by depot. */
export function resultsOf(
  outcomes: ReadonlyMap<ManagedAllocation, Outcome<unknown>>,
): DepotResult[] {
  const byDepot = Map.groupBy(outcomes, ([{ depot }]) => depot);
  return [...byDepot].map(([depot, own]) => {
    const errors = own.flatMap(([, outcome]) => ('error' in outcome ? outcome.error : []));
    const { code, message } = errors[0] ?? {};
    return { depot, done: own.length - errors.length, failed: errors.length, code, message };
  });
}

/** Returns the lines about depots. @param done says what was done, such as `extended` */
export function resultLines(results: readonly DepotResult[], done: string): string[] {
  return results.map((result) => {
    const parts = [`${result.done} ${done}`];
    if (result.failed > 0) parts.push(`${result.failed} not: ${result.message}`);
    return printable(`${result.depot}: ${parts.join(', ')}`);
  });
}

/** Returns the exit status: that of the first failure. */
export function exitOf(outcomes: Iterable<Outcome<unknown>>): number {
  const errors = [...outcomes].flatMap((one): MillraceError[] =>
    'error' in one ? [one.error] : [],
  );
  return errors[0]?.row.exit ?? EXIT.ok;
}
