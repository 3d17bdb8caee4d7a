/** Runs an upload of a file that stands at a URL: depots pull it themselves. */

import { resolve } from 'node:path';
import { WEEK_MS } from '@millrace/shared/base/clock';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { findDepots } from '../../../engine/depots/find-depots.ts';
import { lookAtUrl } from '../../../engine/stored/url-source.ts';
import { storeFirstAtAny, urlUpload } from '../../../engine/stored/url-upload.ts';
import { KeptHistory } from '../../../engine/upload/spread/kept-history.ts';
import type { CliContext, Report } from '../../console/context.ts';
import { edgeOrigin } from '../../console/edge-link.ts';
import { writeResult } from '../../console/result-file.ts';
import { depotsOf } from '../../options/depots.ts';
import { UsageError } from '../../text/option-values.ts';
import { checkFree } from './free-output.ts';
import { isSingle, RETRY_MS, type UploadCommandOptions } from './upload-run.ts';
import { UploadView } from './upload-view.ts';

/**
 * Stores a file that stands at a URL.
 *
 * @returns undefined: the exit status is 0
 * @throws UsageError for options that need a file; MillraceError as `lookAtUrl`, `findDepots` and
 *   `urlUpload`
 */
export async function runUrlUpload(
  url: string,
  options: UploadCommandOptions,
  report: Report,
  context: CliContext,
): Promise<undefined> {
  const needed = options.stripe === undefined ? 'encrypt' : 'stripe';
  if (options.stripe !== undefined || options.encrypt === true) {
    throw new UsageError(`--${needed} needs a file: download this one first, and upload it then`);
  }
  if (options.limit !== undefined) {
    throw new UsageError(
      '--limit needs a file: the bytes of a URL go from its server to the depots',
    );
  }
  const { edge = [undefined], overwrite = false } = options;
  const { cwd, state, signal } = context;
  const named = await depotsOf(edge.map(edgeOrigin), options.tokenFile, context);
  const source = await lookAtUrl(url, signal);
  const name = safeFileName(options.name ?? source.name);
  const view = new UploadView(report, context, name, options.quiet === true);
  const common = {
    ...{ source, name, signal, state, retryMs: options.retryFor ?? RETRY_MS, observe: view },
    forMs: options.for ?? WEEK_MS,
    now: () => performance.now(),
    wallClock: () => Date.now(),
  };
  try {
    if (isSingle(named, options)) {
      const { copy } = await storeFirstAtAny({ ...common, depots: named });
      await copy.forget();
      await copy.unlock();
      view.done(copy);
      return undefined;
    }
    const output = resolve(cwd, options.output ?? `${name}.exnode`);
    await checkFree(output, overwrite);
    const copies = options.copies ?? named.length;
    const history = new KeptHistory(state);
    const { depots, forget } = await findDepots({
      ...{ named, count: copies, bytes: source.bytes, forMs: common.forMs, state, signal },
      history,
      upload: [source.url, `copies ${copies}`, ...named.map((one) => one.edge)],
      observe: view,
    });
    const spread = await urlUpload({ ...common, depots, copies, history });
    // For its user only: it gives all rights to what is stored.
    const text = formatExnode(spread.exnode, false);
    await writeResult(output, text, { overwrites: overwrite, mode: 0o600 });
    await spread.forget();
    await forget();
    view.spread(spread, output);
    return undefined;
  } finally {
    view.end();
  }
}
