/** Shows the layout of a stored file, and asks its depots whether they have it. */

import { EXIT } from '@millrace/shared/base/errors';
import { lostShards } from '@millrace/shared/exnode/coded';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { counts, type Findings } from '@millrace/shared/exnode/findings';
import { layoutOf } from '@millrace/shared/exnode/layout';
import { openExnode } from '../../../engine/seal/sealed-head.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { readExnode } from '../../options/exnode-request.ts';
import { layoutDocument, layoutText } from '../../view/layout-text.ts';
import { findReplicas } from './find-replicas.ts';

export interface StatOptions extends CommonOptions {
  readonly check?: boolean;
  readonly verify?: boolean;
}

/** Shows the layout. @returns the exit status @throws as `readExnode`, `openExnode`; `interrupted` */
export async function runStat(
  given: string,
  { check, verify }: StatOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const read = await readExnode(given, context.cwd, context.signal);
  // The layout is told without the key; with it, also what the file is.
  const exnode = read.key === undefined ? read : openExnode(read);
  const asks = check === true || verify === true;
  const findings = asks ? await findReplicas(exnode, verify === true, report, context) : undefined;
  const now = Date.now();
  const lost = lostShards(exnode.coded ?? [], (replica) => counts(replica, findings, now));
  const shown = { exnode, findings, lost, layout: foundLayout(exnode, findings, now) };
  report.result(layoutDocument(shown), () => layoutText(shown, now, report.width, report.style));
  if (shown.layout.missing.length > 0) return EXIT.source;
  const isWell = [...(findings?.values() ?? [])].every(({ state }) => state === 'there');
  return isWell ? EXIT.ok : EXIT.network;
}

function foundLayout(exnode: Exnode, findings: Findings | undefined, now: number) {
  return layoutOf(
    exnode,
    (replica) => counts(replica, findings, now),
    (replica) => findings?.get(replica)?.expires ?? replica.expires,
  );
}
