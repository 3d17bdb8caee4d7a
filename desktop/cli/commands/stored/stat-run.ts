/** Shows the layout of a stored file. */

import { EXIT } from '@millrace/shared/base/errors';
import { isOver, layoutOf } from '@millrace/shared/exnode/layout';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { readExnode } from '../../options/exnode-request.ts';
import { layoutDocument, layoutText } from '../../view/layout-text.ts';

export type StatOptions = CommonOptions;

/** Shows the layout. @returns the exit status @throws as `readExnode` */
export async function runStat(
  given: string,
  _options: StatOptions,
  report: Report,
  { cwd, signal }: CliContext,
): Promise<number> {
  const exnode = await readExnode(given, cwd, signal);
  const now = Date.now();
  const layout = layoutOf(exnode, (replica) => !isOver(replica, now));
  const shown = { exnode, layout };
  report.result(layoutDocument(shown), () => layoutText(shown, now, report.width, report.style));
  return layout.missing.length > 0 ? EXIT.source : EXIT.ok;
}
