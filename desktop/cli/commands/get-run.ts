/** Carries out `millrace get`: downloads one URL after the other, and reports on each. */

import { asMillraceError, EXIT, type MillraceError } from '@millrace/shared/base/errors';
import {
  looksLikeExnodeName,
  looksLikeMetalinkName,
} from '@millrace/shared/download/request/document-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { ReadableExnode } from '@millrace/shared/exnode/exnode';
import { Download, type DownloadEvent } from '../../engine/download/download.ts';
import { withoutLogin } from '../../engine/net/credentials.ts';
import type { CliContext, CommonOptions, Report } from '../console/context.ts';
import {
  type AskedRequest,
  downloadUrl,
  requestOf,
  wholeRequest,
} from '../options/asked-request.ts';
import type { RequestOptions } from '../options/request-options.ts';
import { typedAs } from '../text/typed-as.ts';
import { type TransferView, transferView } from '../view/transfer-view.ts';

export interface GetOptions extends RequestOptions, CommonOptions {
  readonly quiet?: boolean;
}

/**
 * Downloads the URLs in order; a failure does not stop the next URL from being tried.
 *
 * @param texts URLs and names of metalinks, as typed
 * @returns the exit status: 0, or that of the first failure
 * @throws UsageError for options that contradict each other
 */
export async function get(
  texts: readonly string[],
  options: GetOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  // A name that the user did not choose, such as a metalink's, is changed if a file has it already.
  const asked = {
    ...requestOf('', options, context.cwd),
    rename: options.output === undefined,
  };
  const view = await transferView(context, report, options.quiet === true);
  let status: number = EXIT.ok;
  for (const text of texts) {
    const error = await getOne(text, asked, view, context);
    if (error === undefined) continue;
    if (error.row.exit === EXIT.network && isWithoutScheme(text)) {
      const link = withoutLogin(`http://${text}`);
      report.note(`${typedAs('https:// was assumed. To try without TLS: millrace get')} ${link}`);
    }
    if (status === EXIT.ok) status = error.row.exit;
    if (context.signal.aborted) break;
  }
  return status;
}

/** Returns true for a link as people type it, without http:// or https://. */
function isWithoutScheme(text: string): boolean {
  return !(text.includes('://') || looksLikeMetalinkName(text) || looksLikeExnodeName(text));
}

/** Downloads one URL, all files of a metalink, or that of an exNode. @returns the first failure */
async function getOne(
  text: string,
  asked: AskedRequest,
  view: TransferView,
  context: CliContext,
): Promise<MillraceError | undefined> {
  let failure: MillraceError | undefined;
  try {
    if (looksLikeExnodeName(text)) return await getDescribed(text, asked, view, context);
    for (const request of await requestsFor(text, asked, context)) {
      const shown = withoutLogin(request.urls[0] as string);
      const error = await run(request, shown, view, context.signal);
      failure ??= error;
      if (context.signal.aborted) break;
    }
    return failure;
  } catch (thrown) {
    const error = asMillraceError(thrown);
    view.failed(error, withoutLogin(text));
    return error;
  }
}

async function requestsFor(
  text: string,
  asked: AskedRequest,
  { cwd, signal }: CliContext,
): Promise<DownloadRequest[]> {
  const [, ...mirrors] = asked.urls;
  if (!looksLikeMetalinkName(text)) {
    return [wholeRequest({ ...asked, urls: [downloadUrl(text), ...mirrors] }, cwd)];
  }
  // Imported here: most downloads have no metalink and need no XML parser.
  const { describedDownloads } = await import('../options/described-downloads.ts');
  return describedDownloads(text, wholeRequest(asked, cwd), cwd, signal);
}

/** Downloads the file that an exNode describes. @returns the failure @throws as `readExnode` */
async function getDescribed(
  text: string,
  asked: AskedRequest,
  view: TransferView,
  { cwd, signal }: CliContext,
): Promise<MillraceError | undefined> {
  // Imported here: most downloads have no exNode.
  const { exnodeRequest } = await import('../options/exnode-request.ts');
  const whole = wholeRequest(asked, cwd);
  const { request, exnode } = await exnodeRequest(text, whole, cwd, signal);
  return run(request, withoutLogin(text), view, signal, exnode);
}

async function run(
  request: DownloadRequest,
  shown: string,
  view: TransferView,
  signal: AbortSignal,
  exnode?: ReadableExnode,
): Promise<MillraceError | undefined> {
  const startedAt = performance.now();
  try {
    const onEvent = (event: DownloadEvent) => view.event(event, shown);
    const download = new Download(request, { signal, onEvent, random: Math.random }, exnode);
    const timer = setInterval(() => view.progress(download.progress()), view.intervalMs);
    try {
      view.done(await download.run(), performance.now() - startedAt);
    } finally {
      clearInterval(timer);
    }
    return undefined;
  } catch (thrown) {
    const error = asMillraceError(thrown);
    view.failed(error, shown);
    return error;
  }
}
