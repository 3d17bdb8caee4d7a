/** Extends the leases of a stored file. */

import { type Millis, WEEK_MS } from '@millrace/shared/base/clock';
import { EXIT } from '@millrace/shared/base/errors';
import { allocationsOf, grantedEnd, withEnds } from '@millrace/shared/exnode/allocations';
import { layoutOf } from '@millrace/shared/exnode/layout';
import { manageLinkIn } from '@millrace/shared/exnode/manage-link';
import { manageAllocations } from '../../../engine/stored/manage-allocations.ts';
import { extend } from '../../../engine/upload/depot-client.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import {
  changingOwned,
  exitOf,
  readOwned,
  replaceShared,
  resultLines,
  resultsOf,
  writeOwned,
} from './owned-exnode.ts';

export interface RefreshOptions extends CommonOptions {
  readonly for?: Millis;
}

/** Extends the leases. @returns the exit status @throws as `readOwned`, `allocationsOf` */
export async function runRefresh(
  given: string,
  { for: forMs = WEEK_MS }: RefreshOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const extended = async (manage: string, signal: AbortSignal) => {
    const told = await extend(manage, Math.ceil(forMs / 1000), signal);
    return grantedEnd(told, Date.now(), Date.now() + forMs);
  };
  const single = manageLinkIn(given);
  if (single !== undefined) {
    const expires = new Date(await extended(single.url, context.signal)).toISOString();
    report.result({ expires }, () => [`expires  ${expires}`]);
    return EXIT.ok;
  }
  return changingOwned(given, context, () => refreshOwned(given, extended, report, context));
}

async function refreshOwned(
  given: string,
  extended: (manage: string, signal: AbortSignal) => Promise<Millis>,
  report: Report,
  context: CliContext,
): Promise<number> {
  const exnode = await readOwned(given, context);
  const outcomes = await manageAllocations(allocationsOf(exnode), extended, context.signal);
  const granted = [...outcomes].flatMap(([allocation, outcome]) =>
    'value' in outcome ? [[allocation, outcome.value] as const] : [],
  );
  const after = withEnds(exnode, new Map(granted));
  if (granted.length > 0) await writeOwned(given, after, context);
  const stale = granted.length > 0 ? await replaceShared(after, report, context) : [];
  const end = layoutOf(after, () => true).expires;
  const expires = end === undefined ? undefined : new Date(end).toISOString();
  const depots = resultsOf(outcomes);
  report.result({ expires, depots, stale }, () => [
    ...resultLines(depots, 'extended'),
    ...(expires === undefined ? [] : [`first end  ${expires}`]),
  ]);
  return exitOf(outcomes.values());
}
