/** Removes replicas of a stored file. */

import { EXIT, isMillraceError } from '@millrace/shared/base/errors';
import { allocationsOf, type ManagedAllocation } from '@millrace/shared/exnode/allocations';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { manageLinkIn } from '@millrace/shared/exnode/manage-link';
import { isSettled, planTrim, without } from '@millrace/shared/exnode/trim';
import { manageAllocations, type Outcome } from '../../../engine/stored/manage-allocations.ts';
import { release } from '../../../engine/upload/depot-client.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { UsageError } from '../../text/option-values.ts';
import { findReplicas } from './find-replicas.ts';
import { exitOf, readOwned, resultLines, resultsOf, writeOwned } from './owned-exnode.ts';

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
  const { expired = false, damaged = false, edge = [], all = false, forget = false } = options;
  const isPart = expired || damaged || edge.length > 0;
  if (isPart === all) throw new UsageError('say which: --expired, --damaged, --edge URL, or --all');
  const single = manageLinkIn(given);
  if (single !== undefined) {
    if (!all) throw new UsageError('the only replica of a file goes with --all');
    await release(single.url, context.signal);
    report.result({ removed: 1 }, () => ['1 removed']);
    return EXIT.ok;
  }
  const exnode = await readOwned(given, context);
  // Before depots are asked: a copy without rights is refused at once.
  const owned = allocationsOf(exnode);
  const depots = edge.map((url) => new URL(url).origin);
  const findings = all ? undefined : await findReplicas(exnode, damaged, report, context);
  const chosen =
    findings === undefined ? owned : planTrim(exnode, findings, { expired, damaged, depots });
  const isDone = (allocation: ManagedAllocation) =>
    findings !== undefined && isSettled(allocation, findings);
  const asked = chosen.filter((allocation) => !isDone(allocation));
  const outcomes = await manageAllocations(asked, released, context.signal);
  const removed = chosen.filter((allocation) => isRemoved(outcomes.get(allocation), forget));
  await writeTrimmed(given, exnode, removed, context);
  const results = resultsOf(outcomes);
  report.result({ removed: removed.length, depots: results }, () => [
    ...resultLines(results, 'removed'),
    `${removed.length === 1 ? '1 replica' : `${removed.length} replicas`} less in the exNode`,
  ]);
  return forget ? EXIT.ok : exitOf(outcomes.values());
}

/** Releases an allocation; one that is gone counts as released. @throws MillraceError */
async function released(manage: string, signal: AbortSignal): Promise<void> {
  await release(manage, signal).catch((error: unknown) => {
    if (isMillraceError(error, 'no-such-allocation')) return;
    if (isMillraceError(error, 'allocation-expired')) return;
    throw error;
  });
}

/** Returns true for what goes from the exNode. @param outcome undefined: no depot was to be asked */
function isRemoved(outcome: Outcome<void> | undefined, forget: boolean): boolean {
  return outcome === undefined || 'value' in outcome || forget;
}

async function writeTrimmed(
  given: string,
  exnode: Exnode,
  removed: readonly ManagedAllocation[],
  context: CliContext,
): Promise<void> {
  if (removed.length > 0) await writeOwned(given, without(exnode, removed), context);
}
