/** Adds replicas of a stored file. */

import { resolve } from 'node:path';
import { type Millis, WEEK_MS } from '@millrace/shared/base/clock';
import { EXIT } from '@millrace/shared/base/errors';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { lastEnd } from '@millrace/shared/exnode/findings';
import { depotOf } from '@millrace/shared/exnode/layout';
import { allReplicas } from '@millrace/shared/exnode/replicas';
import { isDepotTarget } from '@millrace/shared/http/urls/depot-link';
import { findForAugment } from '../../../engine/depots/find-for-augment.ts';
import { augmentExnode } from '../../../engine/stored/augment-exnode.ts';
import { KeptHistory } from '../../../engine/upload/spread/kept-history.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { edgeOrigin } from '../../console/edge-link.ts';
import { depotsOf } from '../../options/depots.ts';
import { readExnode } from '../../options/exnode-request.ts';
import { UsageError } from '../../text/option-values.ts';
import { AugmentView } from './augment-view.ts';
import { findReplicas } from './find-replicas.ts';
import { changingOwned, replaceShared, writeOwned } from './owned-exnode.ts';

export interface AugmentCommandOptions extends CommonOptions {
  readonly copies?: number;
  readonly edge?: readonly string[];
  readonly tokenFile?: readonly string[];
  readonly for?: Millis;
  readonly quiet?: boolean;
}

/** Time without progress after which a depot is left. */
const RETRY_MS: Millis = 120_000;

/** Adds replicas. @returns the exit status @throws as `readExnode`, `depotsOf`, `augmentExnode` */
export async function runAugment(
  given: string,
  options: AugmentCommandOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  if (/^https?:\/\//i.test(given)) {
    throw new UsageError('a link cannot list new replicas: download the exNode, and name its file');
  }
  return changingOwned(given, context, () => augmentOwned(given, options, report, context));
}

async function augmentOwned(
  given: string,
  options: AugmentCommandOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const { cwd, signal, state } = context;
  const exnode = await readExnode(given, cwd, signal);
  const copies = copiesOf(options, exnode);
  const named = await depotsOf(namedDepots(options, exnode), options.tokenFile, context);
  const findings = await findReplicas(exnode, false, report, context);
  const wallClock = () => Date.now();
  const usual = lastEnd(findings) ?? 0;
  const asked = options.for === undefined ? usual : wallClock() + options.for;
  // Copies that are given away may name ends that are over.
  const end = asked > wallClock() ? asked : wallClock() + WEEK_MS;
  const history = new KeptHistory(state);
  let latest: Exnode | undefined;
  const view = new AugmentView(report, context, exnode.name, options.quiet === true);
  try {
    const { depots, forget } = await findForAugment({
      ...{ path: resolve(cwd, given), exnode, findings, copies, named, state, signal },
      ...{ forMs: end - wallClock(), history, observe: view },
    });
    const done = await augmentExnode({
      ...{ exnode, findings, depots, copies, retryMs: RETRY_MS, signal, wallClock },
      history,
      end,
      now: () => performance.now(),
      async write(changed) {
        latest = changed;
        await writeOwned(given, changed, context);
      },
      observe: view,
    });
    view.end();
    const changed = signal.aborted ? undefined : latest;
    const stale = changed === undefined ? [] : await replaceShared(changed, report, context);
    view.done(done, options.copies, stale);
    if (done.failure !== undefined) throw done.failure;
    await forget();
    return done.missing.length > 0 ? EXIT.source : EXIT.ok;
  } finally {
    view.end();
  }
}

/**
 * Returns the replicas that each part is to have.
 *
 * @throws UsageError if the file needs the option, or has no use for it
 */
function copiesOf({ copies }: AugmentCommandOptions, { extents }: Exnode): number {
  if (extents.length > 0 && copies === undefined) {
    throw new UsageError('say how many replicas each part shall have: --copies N');
  }
  if (extents.length === 0 && copies !== undefined && copies > 1) {
    throw new UsageError('a striped file has one replica of each shard: leave out --copies');
  }
  return copies ?? 1;
}

/**
 * Lists the addresses of the depots that the user has named. An exNode may come from anybody: the
 * user's token goes to no depot only because an exNode names it.
 *
 * @throws UsageError if there is none
 */
function namedDepots({ edge }: AugmentCommandOptions, exnode: Exnode): string[] {
  const usual = (process.env.MILLRACE_EDGE ?? '').split(',').map((text) => text.trim());
  const named = edge ?? usual.filter((text) => text !== '');
  if (named.length > 0) return named.map(edgeOrigin);
  const stored = allReplicas(exnode).filter(({ replica: { read } }) =>
    isDepotTarget(new URL(read).pathname),
  );
  const known = new Set(stored.map(({ replica }) => `--edge ${depotOf(replica)}`));
  const such = known.size === 0 ? '--edge URL' : [...known].slice(0, 8).join(' ');
  throw new UsageError(`name the depots that may store replicas, such as ${such}`);
}
