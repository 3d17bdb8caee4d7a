/** Carries out `millrace get`: downloads one URL after the other, and reports on each. */

import { resolve } from 'node:path';
import { asMillraceError, EXIT, type MillraceError } from '@millrace/shared/base/errors';
import {
  describesFiles,
  looksLikeExnodeName,
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
import { UsageError } from '../text/option-values.ts';
import { typedAs } from '../text/typed-as.ts';
import { type TransferView, transferView } from '../view/transfer-view.ts';

export interface GetOptions extends RequestOptions, CommonOptions {
  readonly quiet?: boolean;
  readonly unpack?: boolean;
  readonly older?: string;
  readonly zsync?: string;
  /** True to replace the older file. */
  readonly repairs?: boolean;
}

/** The way that all files of a command go. */
interface Way {
  readonly view: TransferView;
  readonly context: CliContext;
  /** True to unpack it. */
  readonly unpacks: boolean;
}

/**
 * Downloads the URLs in order; a failure does not stop the next URL from being tried.
 *
 * @param texts URLs, names of metalinks and torrents, and magnet links, as typed
 * @returns the exit status: 0, or that of the first failure
 * @throws UsageError for options that contradict each other
 */
export async function get(
  texts: readonly string[],
  options: GetOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  if (options.zsync !== undefined && texts.some(looksLikeExnodeName)) {
    throw new UsageError('--zsync is not for exNodes: they have digests of their blocks');
  }
  // A name that the user did not choose, such as a metalink's, is changed if a file has it already.
  const asked = {
    ...requestOf('', options, context.cwd),
    rename: options.output === undefined,
    ...olderOf(options, context.cwd),
  };
  if (asked.keys !== undefined) {
    // Imported here: most downloads have no key of the user's own.
    const { KeyRing } = await import('../../engine/signatures/key-ring.ts');
    await KeyRing.open(asked.keys, undefined);
  }
  const view = await transferView(context, report, options.quiet === true);
  const way: Way = { view, context, unpacks: options.unpack === true };
  let status: number = EXIT.ok;
  for (const text of texts) {
    const error = await getOne(text, asked, way);
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

/** Returns the older file that the user names, if any. */
function olderOf({ older, zsync, repairs }: GetOptions, cwd: string): Partial<DownloadRequest> {
  if (older === undefined) return {};
  return { older: { path: resolve(cwd, older), zsync, beside: true, repairs } };
}

/** Returns true for a link as people type it, without http:// or https://. */
function isWithoutScheme(text: string): boolean {
  return !(text.includes('://') || describesFiles(text) || looksLikeExnodeName(text));
}

/** Downloads one URL, all files of a metalink or torrent, or that of an exNode. @returns the first failure */
async function getOne(
  text: string,
  asked: AskedRequest,
  way: Way,
): Promise<MillraceError | undefined> {
  const { view, context } = way;
  let failure: MillraceError | undefined;
  try {
    if (looksLikeExnodeName(text)) return await getDescribed(text, asked, way);
    for (const request of await requestsFor(text, asked, context)) {
      const shown = withoutLogin(request.urls[0] as string);
      const error = await run(request, shown, way);
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
  if (!describesFiles(text)) {
    return [wholeRequest({ ...asked, urls: [downloadUrl(text), ...mirrors] }, cwd)];
  }
  // Imported here: most downloads have no description and need no parser.
  const { describedDownloads } = await import('../options/described-downloads.ts');
  return describedDownloads(text, wholeRequest(asked, cwd), cwd, signal);
}

/** Downloads the file that an exNode describes. @returns the failure @throws as `readExnode` */
async function getDescribed(
  text: string,
  asked: AskedRequest,
  way: Way,
): Promise<MillraceError | undefined> {
  const { cwd, signal } = way.context;
  // Imported here: most downloads have no exNode.
  const { exnodeRequest } = await import('../options/exnode-request.ts');
  const whole = wholeRequest(asked, cwd);
  const { request, exnode } = await exnodeRequest(text, whole, cwd, signal);
  return run(request, withoutLogin(text), way, exnode);
}

async function run(
  request: DownloadRequest,
  shown: string,
  { view, context, unpacks }: Way,
  exnode?: ReadableExnode,
): Promise<MillraceError | undefined> {
  const { signal } = context;
  const startedAt = performance.now();
  try {
    const onEvent = (event: DownloadEvent) => view.event(event, shown);
    const download = new Download(
      request,
      { signal, onEvent, random: Math.random, makesFolder: true },
      exnode,
    );
    const timer = setInterval(() => view.progress(download.progress()), view.intervalMs);
    let path: string;
    try {
      const result = await download.run();
      view.done(result, performance.now() - startedAt);
      path = result.path;
    } finally {
      clearInterval(timer);
    }
    if (unpacks) {
      // Imported here: most downloads are not unpacked.
      const { unpack } = await import('../../engine/archive/unpack.ts');
      view.unpacked(await unpack(path, request.overwrite, signal));
    }
    return undefined;
  } catch (thrown) {
    const error = asMillraceError(thrown);
    view.failed(error, shown);
    return error;
  }
}
