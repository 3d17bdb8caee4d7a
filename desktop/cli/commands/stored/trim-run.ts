/** Removes replicas of a stored file. */

import { EXIT, MillraceError } from '@millrace/shared/base/errors';
import { allocationsOf, type ManagedAllocation } from '@millrace/shared/exnode/allocations';
import { manageLinkIn } from '@millrace/shared/exnode/manage-link';
import { planTrim, seemsLost, without } from '@millrace/shared/exnode/trim';
import { manageAllocations, type Outcome } from '../../../engine/stored/manage-allocations.ts';
import { release, stateOfStored } from '../../../engine/upload/depot-client.ts';
import { isGone } from '../../../engine/upload/reserve.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { counted } from '../../text/counted.ts';
import { UsageError } from '../../text/option-values.ts';
import { findReplicas } from './find-replicas.ts';
import {
  changingOwned,
  exitOf,
  readOwned,
  replaceShared,
  resultLines,
  resultsOf,
  writeOwned,
} from './owned-exnode.ts';

export interface TrimOptions extends CommonOptions {
  readonly expired?: boolean;
  readonly damaged?: boolean;
  readonly edge?: readonly string[];
  readonly all?: boolean;
  readonly forget?: boolean;
}

/** Removes replicas. @returns the exit status @throws as `readOwned`, `planTrim` */
export async function runTrim(
  given: string,
  options: TrimOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const { expired = false, damaged = false, edge = [], all = false } = options;
  const isPart = expired || damaged || edge.length > 0;
  if (isPart === all) throw new UsageError('say which: --expired, --damaged, --edge URL, or --all');
  const single = manageLinkIn(given);
  if (single !== undefined) {
    if (!all) throw new UsageError('the only replica of a file goes with --all');
    await release(single.url, context.signal);
    report.result({ removed: 1 }, () => ['1 replica removed']);
    return EXIT.ok;
  }
  return changingOwned(given, context, () => trimOwned(given, options, report, context));
}

async function trimOwned(
  given: string,
  { expired = false, damaged = false, edge = [], all = false, forget = false }: TrimOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const exnode = await readOwned(given, context);
  // Before depots are asked: a copy without rights is refused at once.
  const owned = allocationsOf(exnode);
  const depots = edge.map((url) => new URL(url).origin);
  const findings = all ? undefined : await findReplicas(exnode, damaged, report, context);
  const chosen =
    findings === undefined ? owned : planTrim(exnode, findings, { expired, damaged, depots });
  const lost = new Set(
    chosen
      .filter((one) => findings !== undefined && seemsLost(one, findings))
      .filter(({ depot }) => !depots.includes(depot))
      .map(({ manage }) => manage),
  );
  const send = (manage: string, signal: AbortSignal) =>
    lost.has(manage) ? confirmLost(manage, signal) : released(manage, signal);
  const outcomes = await manageAllocations(chosen, send, context.signal);
  const removed = chosen.filter((one) => isRemoved(one, outcomes.get(one), forget));
  const left = without(exnode, removed);
  if (removed.length > 0) await writeOwned(given, left, context);
  const stale = removed.length > 0 && !all ? await replaceShared(left, report, context) : [];
  const results = resultsOf(outcomes);
  report.result({ removed: removed.length, depots: results, stale }, () => [
    ...resultLines(results, 'removed'),
    `${counted(removed.length, 'replica')} fewer in the exNode`,
  ]);
  return forget && !context.signal.aborted ? EXIT.ok : exitOf(outcomes.values());
}

/** Releases an allocation; one that is gone counts as released. @throws MillraceError */
async function released(manage: string, signal: AbortSignal): Promise<void> {
  await release(manage, signal).catch((error: unknown) => {
    if (!isGone(error)) throw error;
  });
}

/**
 * Asks a depot whether an allocation is gone. Its place has said so, but another server may have
 * answered for it, and nothing that is there is to be deleted because of that.
 *
 * @throws MillraceError
 */
async function confirmLost(manage: string, signal: AbortSignal): Promise<void> {
  try {
    await stateOfStored(manage, signal);
  } catch (error) {
    if (isGone(error)) return;
    throw error;
  }
  throw new MillraceError('malformed-response', 'the depot has it, but did not give it before');
}

/**
 * Returns true for allocations that go from the exNode: those that are gone, those that no depot
 * manages, and those to forget whose depot was asked.
 */
function isRemoved(
  { manage }: ManagedAllocation,
  outcome: Outcome<void> | undefined,
  forget: boolean,
): boolean {
  if (manage === undefined) return true;
  if (outcome === undefined) return false;
  return 'value' in outcome || (forget && outcome.error.code !== 'interrupted');
}
