/** `millrace add`: gives downloads to the daemon, and starts one if none runs. */

import { asMillraceError, type ErrorCode, EXIT, MillraceError } from '@millrace/shared/base/errors';
import type { ResultOf } from '@millrace/shared/bridge/contract/contract';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { type CurlDownload, curlDownloads } from '@millrace/shared/download/adding/curl-command';
import { MAX_CURL_DOWNLOADS, MAX_EXPANDED } from '@millrace/shared/download/adding/typed-links';
import type { AfterChoice } from '@millrace/shared/download/after/after';
import { MAX_QUEUE } from '@millrace/shared/download/queue/queue';
import {
  isExnodeLink,
  isFollowed,
  looksLikeExnodeName,
} from '@millrace/shared/download/request/document-name';
import { expandPattern, isPattern } from '@millrace/shared/download/request/url-pattern';
import { Command } from 'commander';
import { withoutLogin } from '../../engine/net/credentials.ts';
import { logFile } from '../../local/daemon-launch.ts';
import {
  action,
  type CliContext,
  type CommonOptions,
  errorObject,
  type Report,
} from '../console/context.ts';
import { type DaemonLink, folderFor, openDaemon, openOrStart } from '../console/daemon-link.ts';
import { downloadUrl, refuseOneFileOptions, requestOf } from '../options/asked-request.ts';
import { readDescription } from '../options/fetch-description.ts';
import {
  addFollowOption,
  addQueueOptions,
  addRequestOptions,
  addResolverOptions,
  type FollowOption,
  type QueueOptions,
  type RequestOptions,
  type ResolverOptions,
} from '../options/request-options.ts';
import { THEN_WORDS, thenValue } from '../options/then-option.ts';
import { readList, readUrlList } from '../options/url-list.ts';
import { counted } from '../text/counted.ts';
import { repeated, UsageError } from '../text/option-values.ts';
import { printable } from '../text/printable.ts';
import { changeLine, ID_CHARS } from '../view/watch-model.ts';
import {
  addPageOptions,
  downloadsOfPage,
  type PageDownload,
  type PageOptions,
  refuseWithoutPage,
} from './adding/from-page.ts';

interface AddOptions
  extends RequestOptions,
    QueueOptions,
    ResolverOptions,
    FollowOption,
    PageOptions,
    CommonOptions {
  readonly metalink?: readonly string[];
  readonly input?: string;
  readonly curl?: string;
  readonly patterns: boolean;
  readonly paused?: boolean;
  readonly then?: AfterChoice;
  readonly start: boolean;
}

/** Most downloads that one call adds. */
const BATCH = 1000;
/** Most failures that are reported one by one. */
const MAX_TOLD = 20;

/** One item to add: a URL, an exNode's file, or a description, which may be of several downloads. */
type Item =
  | { readonly kind: 'url'; readonly given: string }
  | { readonly kind: 'exnode'; readonly given: string }
  | { readonly kind: 'metalink'; readonly given: string };

export function addCommand(context: CliContext): Command {
  const command = addRequestOptions(
    new Command('add')
      .description('give downloads to the daemon, and start it if none runs')
      .summary('add downloads to the queue')
      .argument(
        '[url-or-file...]',
        'URLs, or Metalink files (*.meta4, *.metalink), torrents (*.torrent), magnet links, or exNodes (*.exnode)',
      ),
    'the category\u2019s folder, in the daemon\u2019s download folder',
  );
  const usual = 'true; mem where the URL says what it is';
  return addPageOptions(addFollowOption(addResolverOptions(addQueueOptions(command)), usual))
    .option(
      '--metalink <file or url>',
      'metalink whose files are added; may be repeated',
      repeated((text) => text),
    )
    .option('-i, --input <file>', 'URLs, one a line; "-" for standard input')
    .option('--curl <file>', 'curl command lines, as browsers copy them; "-" for standard input')
    .option('--no-patterns', 'take {a,b} and [01-20] in URLs as they are, not as several URLs')
    .option('--then <action>', `when it is complete: ${THEN_WORDS}; may be repeated`, thenValue)
    .option('--paused', 'add without starting; "resume" starts them')
    .option('--no-start', 'do not start a daemon if none runs')
    .option('--json', 'print one JSON document')
    .action(
      action<AddOptions, [string[]]>(context, (report, options, urls) =>
        add(context, report, options, urls),
      ),
    );
}

async function add(
  context: CliContext,
  report: Report,
  options: AddOptions,
  urls: readonly string[],
): Promise<number> {
  if (options.fromPage === undefined) refuseWithoutPage(options);
  else {
    const { input, curl, metalink } = options;
    if (urls.length > 0 || (input ?? curl ?? metalink) !== undefined) {
      throw new UsageError('either --from-page or what is to be added');
    }
    const found = await downloadsOfPage(context, report, options, folderFor(context));
    return found === undefined ? EXIT.ok : addList(context, report, options, found);
  }
  const list = await listOf(context, options, urls);
  if (list !== undefined) return addList(context, report, options, list);
  const items = itemsOf(urls, options);
  const { state } = context;
  const daemon = options.start
    ? await openOrStart(context, (pid) =>
        report.note(`Started a daemon (process ${pid}; its log: ${logFile(state)})`),
      )
    : await openDaemon(context);
  const added: DownloadView[] = [];
  const failed: object[] = [];
  let status: number = EXIT.ok;
  try {
    for (const item of items) {
      try {
        for (const gid of await addOne(daemon, item, options, context, report)) {
          added.push(await daemon.call('millrace.status', { gid }));
        }
      } catch (thrown) {
        // The next item may still succeed.
        const error = asMillraceError(thrown);
        if (status === EXIT.ok) status = error.row.exit;
        const url = withoutLogin(item.given);
        failed.push({ url, ...errorObject(error) });
        if (!report.json) report.error(error, url);
      }
    }
  } finally {
    daemon.close();
  }
  report.result({ added, failed }, () => added.map((d) => changeLine(d, Date.now())));
  return status;
}

/**
 * Returns the downloads of `-i`, of `--curl`, or of URLs among which is a pattern.
 *
 * @returns undefined if each argument is to be added by itself
 */
async function listOf(
  context: CliContext,
  { input, curl, metalink, patterns }: AddOptions,
  urls: readonly string[],
): Promise<readonly CurlDownload[] | undefined> {
  const [file, ...others] = [input ?? [], curl ?? []].flat();
  if (file === undefined) {
    if (!patterns || !urls.some(isPattern) || metalink !== undefined) return undefined;
    if (urls.some((given) => kindOf(given, {}) !== 'url')) return undefined;
    return expanded(urls);
  }
  if (urls.length + others.length > 0 || metalink !== undefined) {
    throw new UsageError('either URLs or a list of them');
  }
  if (curl !== undefined) return curlDownloads(await readList(file, context), MAX_CURL_DOWNLOADS);
  const list = await readUrlList(file, context);
  return patterns ? expanded(list) : list.map((url) => ({ url }));
}

/** Returns what URLs stand for, of which some may be patterns. @throws UsageError for too many */
function expanded(list: readonly string[]): CurlDownload[] {
  const all: CurlDownload[] = [];
  for (const given of list) {
    const urls = isPattern(given) ? expandPattern(given, MAX_EXPANDED) : [given];
    for (const url of urls) all.push({ url });
    // Checked for each: a list of many patterns would not fit into the memory.
    if (all.length > MAX_QUEUE) {
      throw new UsageError(`they stand for more URLs than the queue holds, ${MAX_QUEUE}`);
    }
  }
  return all;
}

/** Adds the downloads of a list, up to BATCH of them per call. Options come before a list's own. */
async function addList(
  context: CliContext,
  report: Report,
  options: AddOptions,
  list: readonly PageDownload[],
): Promise<number> {
  if (list.length > 1) refuseOneFileOptions(options);
  const { priority, position, category, paused, then, resolver, follow } = options;
  const place = { priority, position, category, paused, after: then, resolver, follow };
  const gids: string[] = [];
  let renewed = 0;
  const failed: object[] = [];
  let status: number = EXIT.ok;
  const refused = (url: string, error: MillraceError) => {
    if (status === EXIT.ok) status = error.row.exit;
    failed.push({ url: withoutLogin(url), ...errorObject(error) });
    if (!report.json && failed.length <= MAX_TOLD) report.error(error, withoutLogin(url));
  };
  const requests = list.flatMap(({ url, dir, ...own }) => {
    try {
      const asked = requestOf(addedUrl(url), options, folderFor(context));
      const headers = { ...own.headers, ...asked.headers };
      const fields = Object.keys(headers).length === 0 ? {} : { headers };
      return [
        {
          url,
          request: { ...own, ...asked, ...(dir === undefined ? {} : { dir }), ...fields, ...place },
        },
      ];
    } catch (error) {
      refused(url, asMillraceError(error));
      return [];
    }
  });
  // Each download added at the position pushes the earlier ones back, so the last one goes first.
  if (position !== undefined) requests.reverse();
  const daemon = options.start ? await openOrStart(context, () => {}) : await openDaemon(context);
  try {
    for (let from = 0; from < requests.length; from += BATCH) {
      const some = requests.slice(from, from + BATCH);
      const downloads = some.map(({ request }) => request);
      const result = await daemon.call('millrace.addMany', { downloads });
      gids.push(...result.gids);
      renewed += result.renewed.length;
      for (const { index, code, detail } of result.failed) {
        refused(some[index]?.url ?? '', new MillraceError(code as ErrorCode, detail));
      }
    }
  } finally {
    daemon.close();
  }
  const unsaid = failed.length - MAX_TOLD;
  report.result({ added: gids, failed }, () => [
    `Added ${counted(gids.length - renewed, 'download')}.`,
    ...(renewed > 0 ? [`${counted(renewed, 'download')} continued with a new link.`] : []),
    ...(unsaid > 0 ? [`${unsaid} more could not be added.`] : []),
  ]);
  return status;
}

function itemsOf(urls: readonly string[], options: AddOptions): Item[] {
  const items: Item[] = [
    ...urls.map((given) => ({ kind: kindOf(given, options), given })),
    ...(options.metalink ?? []).map((given) => ({ kind: 'metalink', given }) as const),
  ];
  if (items.length === 0) throw new UsageError('there is nothing to add');
  const one = items.length === 1 && items[0]?.kind !== 'metalink';
  // Further URLs of one description are those of its files.
  if (!one) refuseOneFileOptions(items.length === 1 ? { ...options, mirror: undefined } : options);
  return items;
}

/** Tells what an argument names, by the rule of `millrace get`. The daemon follows descriptions that are kept. */
function kindOf(
  given: string,
  { output, follow = 'mem' }: Pick<AddOptions, 'output' | 'follow'>,
): Item['kind'] {
  const isFile = follow !== 'mem' && /^https?:/i.test(given);
  if (!isFile && isFollowed({ given, output })) return 'metalink';
  return looksLikeExnodeName(given) && !isExnodeLink(given) ? 'exnode' : 'url';
}

/** Reads a URL as typed. That of an exNode keeps its key. @throws MillraceError `bad-url` */
function addedUrl(given: string): string {
  return isExnodeLink(given) ? given : downloadUrl(given);
}

/**
 * Adds what a file describes, without starting it.
 *
 * @param file path of a Metalink or exNode, relative to the current folder
 * @throws MillraceError as `millrace.addMetalink`; `bad-option` for a file that cannot be read
 */
export async function addPaused(
  daemon: DaemonLink,
  file: string,
  context: CliContext,
): Promise<void> {
  await addOne(daemon, { kind: kindOf(file, {}), given: file }, PAUSED, context);
}

/** Options of a download that nobody has said anything about, except that it waits. */
const PAUSED: AddOptions = { paused: true, start: true, patterns: false };

/** Says that a link continues an earlier download, or why it does not. */
function tellOfEarlier({ gid, renewed, apart }: ResultOf<'millrace.add'>, report?: Report): void {
  const short = (id: string) => id.slice(0, ID_CHARS);
  if (renewed === true) report?.note(`The link continues ${short(gid)}, an earlier download.`);
  if (apart === undefined) return;
  const { name, why } = apart;
  const earlier = `${printable(name)} (${short(apart.gid)})`;
  report?.note(`Not shown to be the same file as the earlier ${earlier}: ${printable(why)}.`);
  report?.note('It is downloaded anew, and the earlier download stays as it is.');
}

async function addOne(
  daemon: DaemonLink,
  item: Item,
  options: AddOptions,
  context: CliContext,
  report?: Report,
): Promise<readonly string[]> {
  const { cwd, signal } = context;
  const from = folderFor(context);
  const { priority, position, category, paused, then, resolver, follow } = options;
  const place = { priority, position, category, paused, after: then };
  if (item.kind === 'exnode') {
    // Imported here: most downloads have no exNode.
    const { readExnodeFile } = await import('../options/exnode-request.ts');
    const exnode = (await readExnodeFile(item.given, cwd)).toString('base64');
    const { urls: _, ...request } = requestOf('', options, from);
    return [(await daemon.call('millrace.addExnode', { ...request, ...place, exnode })).gid];
  }
  if (item.kind === 'url') {
    const request = requestOf(addedUrl(item.given), options, from);
    const added = await daemon.call('millrace.add', { ...request, ...place, resolver, follow });
    tellOfEarlier(added, report);
    return [added.gid];
  }
  const { urls, ...request } = requestOf('', options, from);
  const [, ...mirrors] = urls;
  const metalink = (await readDescription(item.given, cwd, signal)).toString('base64');
  const params = { ...request, ...place, metalink, ...(mirrors.length === 0 ? {} : { mirrors }) };
  return (await daemon.call('millrace.addMetalink', params)).gids;
}
