/** Carries out `millrace get`: downloads one URL after the other, and reports on each. */

import { basename, resolve } from 'node:path';
import { asMillraceError, EXIT, type MillraceError } from '@millrace/shared/base/errors';
import type { Follow as FollowChoice } from '@millrace/shared/download/after/follow';
import {
  describesFiles,
  isFollowed,
  isMagnetLink,
  looksLikeExnodeName,
} from '@millrace/shared/download/request/document-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { ReadableExnode } from '@millrace/shared/exnode/exnode';
import { Download, type DownloadEvent } from '../../engine/download/download.ts';
import type { DownloadResult } from '../../engine/download/download-types.ts';
import type { HouseEdges } from '../../engine/edges/house-edges.ts';
import { withoutLogin } from '../../engine/net/credentials.ts';
import { hasResolvers } from '../../engine/resolvers/resolver-file.ts';
import { ownKeysIn } from '../../engine/signatures/own-keys.ts';
import type { CliContext, CommonOptions, Report } from '../console/context.ts';
import {
  type AskedRequest,
  downloadUrl,
  requestOf,
  wholeRequest,
} from '../options/asked-request.ts';
import type { DescribedFile } from '../options/described-downloads.ts';
import type { FollowOption, RequestOptions, ResolverOptions } from '../options/request-options.ts';
import type { ResolvedRequest } from '../options/resolved-request.ts';
import { UsageError } from '../text/option-values.ts';
import { printable } from '../text/printable.ts';
import { typedAs } from '../text/typed-as.ts';
import { type TransferView, transferView } from '../view/transfer-view.ts';
import type { FetchedFile } from './fetching/check-borders.ts';

export interface GetOptions extends RequestOptions, ResolverOptions, FollowOption, CommonOptions {
  readonly quiet?: boolean;
  readonly unpack?: boolean;
  readonly house?: boolean;
  readonly older?: string;
  readonly zsync?: string;
  /** True to replace the older file. */
  readonly repairs?: boolean;
}

/** The way that all files of a command go. */
interface Way {
  readonly view: TransferView;
  readonly context: CliContext;
  readonly report: Report;
  /** Resolver to ask; false: none; undefined: that whose patterns match. */
  readonly resolver: string | false | undefined;
  /** Whether a link to a description is followed, and the description kept. */
  readonly follow: FollowChoice;
  /** True to unpack it. */
  readonly unpacks: boolean;
  /** Edges on the local network; undefined: they are not used. */
  readonly house: HouseEdges | undefined;
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
    ...(options.house === true ? { house: true } : {}),
  };
  if (options.house === true && options.edgesOnly === true) {
    throw new UsageError('--house needs the origin, which says what the file is: no --edges-only');
  }
  if (asked.keys !== undefined) {
    // Imported here: most downloads have no key of the user's own.
    const { KeyRing } = await import('../../engine/signatures/key-ring.ts');
    await KeyRing.open(asked.keys, undefined);
  }
  const view = await transferView(context, report, options.quiet === true);
  const { resolver, follow = 'mem' } = options;
  const house = options.house === true ? await openHouse() : undefined;
  const unpacks = options.unpack === true;
  const way: Way = { view, context, report, resolver, follow, unpacks, house };
  let status: number = EXIT.ok;
  try {
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
  } finally {
    house?.close();
  }
}

/** Begins to look for edges on the local network. */
async function openHouse(): Promise<HouseEdges> {
  // Imported here: most downloads look for none.
  const { HouseEdges: Looking } = await import('../../engine/edges/house-edges.ts');
  return new Looking();
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

/** Returns true for the address of a file, as people type it. */
function isLink(text: string): boolean {
  return !isMagnetLink(text) && (isWithoutScheme(text) || /^https?:/i.test(text));
}

/** Downloads one URL, all files of a metalink or torrent, or that of an exNode. @returns the first failure */
async function getOne(
  text: string,
  asked: AskedRequest,
  way: Way,
): Promise<MillraceError | undefined> {
  const { view, context } = way;
  try {
    if (looksLikeExnodeName(text)) return await getDescribed(text, asked, way);
    // A description that is to be kept, too, is downloaded as a file first.
    const isFile = way.follow !== 'mem' && isLink(text);
    const follows = !isFile && isFollowed({ given: text, output: asked.file });
    // A document describes files, not pages that have one.
    if (follows) return await runAll(await described(text, asked, context), way);
    const [, ...mirrors] = asked.urls;
    const request = wholeRequest({ ...asked, urls: [downloadUrl(text), ...mirrors] }, context.cwd);
    const shown = withoutLogin(request.urls[0] as string);
    const resolved = await resolveLinks(request, way);
    const follow = way.follow === false ? undefined : followOf(text, asked, way);
    return await run(resolved?.request ?? request, shown, way, { resolved, follow });
  } catch (thrown) {
    const error = asMillraceError(thrown);
    view.failed(error, withoutLogin(text));
    return error;
  }
}

async function described(
  text: string,
  asked: AskedRequest,
  { cwd, signal }: CliContext,
): Promise<DescribedFile[]> {
  // Imported here: most downloads have no description and need no parser.
  const { describedDownloads } = await import('../options/described-downloads.ts');
  return describedDownloads(text, wholeRequest(asked, cwd), cwd, signal);
}

/** Downloads the files of a description, and checks the pieces that they share. @returns the first failure */
async function runAll(
  files: readonly DescribedFile[],
  way: Way,
): Promise<MillraceError | undefined> {
  const { view, context } = way;
  const { signal } = context;
  let failure: MillraceError | undefined;
  const fetch = async (request: DownloadRequest) => {
    let result: DownloadResult | undefined;
    const onComplete = (complete: DownloadResult) => {
      result = complete;
    };
    const shown = withoutLogin(request.urls[0] as string);
    const error = await run(request, shown, way, { onComplete });
    failure ??= error;
    return result;
  };
  const fetched: FetchedFile[] = [];
  for (const { request, shared } of files) {
    const result = await fetch(request);
    fetched.push({ request, shared, result, finishedAt: Date.now() });
    if (signal.aborted) return failure;
  }
  if (!fetched.some(({ shared }) => shared.length > 0)) return failure;
  // Imported here: most descriptions have no such pieces.
  const { checkBorders } = await import('./fetching/check-borders.ts');
  const error = await checkBorders(fetched, { view, fetch, signal });
  return failure ?? error;
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
  return run(request, withoutLogin(text), way, { exnode });
}

/** Lets a resolver find the links of a request. @returns undefined if none is for it */
async function resolveLinks(
  request: DownloadRequest,
  { context, report, resolver }: Way,
): Promise<ResolvedRequest | undefined> {
  const { state } = context;
  if (resolver === false || (resolver === undefined && !hasResolvers(state))) return undefined;
  // Imported here: most downloads need no resolver.
  const { resolvedRequest } = await import('../options/resolved-request.ts');
  const resolved = await resolvedRequest(request, resolver, context);
  if (resolved === undefined) return undefined;
  report.note(`Resolved by ${resolved.by}: ${printable(resolved.request.urls[0] as string)}`);
  if (resolved.note !== undefined) report.note(printable(resolved.note));
  return resolved;
}

/**
 * Goes on with the files that a complete file describes.
 *
 * @returns undefined if the file is one like others
 */
type Follow = (
  complete: DownloadResult,
) => Promise<{ readonly failure: MillraceError | undefined } | undefined>;

function followOf(text: string, asked: AskedRequest, way: Way): Follow {
  const { context, report } = way;
  const { cwd, signal } = context;
  const keeps = way.follow === true;
  return async ({ path, bytes, contentType }) => {
    const name = basename(path);
    const isKnown = asked.digests !== undefined;
    const output = keeps ? undefined : asked.file;
    const about = { given: '', output, isKnown: isKnown && !keeps, name, type: contentType };
    if (!isFollowed(about)) return undefined;
    // Imported here: most downloads have no description and need no parser.
    const { followedDownloads } = await import('../options/described-downloads.ts');
    const file = { path, bytes, url: downloadUrl(text) };
    const requests = await followedDownloads(file, wholeRequest(asked, cwd), keeps, signal);
    if (requests === undefined) {
      report.note(
        `${printable(name)} describes no files, as its server says, and is kept as it is.`,
      );
      return undefined;
    }
    const how = keeps ? 'downloaded as well' : 'downloaded in its place';
    report.note(`${printable(name)} describes files, which are ${how}.`);
    return { failure: await runAll(requests, way) };
  };
}

interface Parts {
  readonly follow?: Follow | undefined;
  readonly exnode?: ReadableExnode | undefined;
  readonly resolved?: ResolvedRequest | undefined;
  readonly onComplete?: (complete: DownloadResult) => void;
}

async function run(
  first: DownloadRequest,
  shown: string,
  { view, context, report, unpacks, house }: Way,
  { exnode, resolved, follow, onComplete }: Parts,
): Promise<MillraceError | undefined> {
  const { signal } = context;
  const ownKeys = ownKeysIn(context.state);
  const startedAt = performance.now();
  try {
    const onEvent = (event: DownloadEvent) => view.event(event, shown);
    let request = first;
    let complete: DownloadResult | undefined;
    while (complete === undefined) {
      const download = new Download(
        request,
        { signal, onEvent, ownKeys, random: Math.random, makesFolder: true, house },
        exnode,
      );
      const timer = setInterval(() => view.progress(download.progress()), view.intervalMs);
      try {
        complete = await download.run();
        onComplete?.(complete);
        view.done(complete, performance.now() - startedAt);
      } catch (thrown) {
        clearInterval(timer);
        const next = await resolved?.again(asMillraceError(thrown), download.progress());
        if (next === undefined) throw thrown;
        report.note(`The link has expired: ${resolved?.by} has found a new one.`);
        request = next;
      } finally {
        clearInterval(timer);
      }
    }
    const followed = await follow?.(complete);
    if (followed !== undefined) return followed.failure;
    if (unpacks) {
      // Imported here: most downloads are not unpacked.
      const { unpack } = await import('../../engine/archive/unpack.ts');
      view.unpacked(await unpack(complete.path, first.overwrite, signal));
    }
    return undefined;
  } catch (thrown) {
    const error = asMillraceError(thrown);
    view.failed(error, shown);
    return error;
  }
}
