/** The links of a page as downloads, for `millrace add --from-page`. */

import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import type { PageLink, PageLinks } from '@millrace/shared/bridge/rpc/adding-api';
import type { CurlDownload } from '@millrace/shared/download/adding/curl-command';
import { MAX_DEPTH } from '@millrace/shared/download/listing/page-link';
import { fitsPattern } from '@millrace/shared/text/wildcards';
import type { Command } from 'commander';
import type { CliContext, Report } from '../../console/context.ts';
import { openDaemon, openOrStart } from '../../console/daemon-link.ts';
import { confirmed, isPerson } from '../../console/question.ts';
import { downloadUrl, requestOf } from '../../options/asked-request.ts';
import type { RequestOptions } from '../../options/request-options.ts';
import { counted } from '../../text/counted.ts';
import { repeated, UsageError, wholeNumber } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';
import { type Column, table } from '../../text/table.ts';

export interface PageOptions {
  readonly fromPage?: string;
  readonly match?: readonly string[];
  readonly kind?: readonly string[];
  readonly depth?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** A download of a page. */
export interface PageDownload extends CurlDownload {
  /** Folder to save it in, where it is in a folder below the page. */
  readonly dir?: string;
}

const COLUMNS: readonly Column[] = [
  { title: 'FILE', cut: 'middle', min: 16 },
  { title: 'SIZE', align: 'right', drop: 2 },
  { title: 'KIND', drop: 1 },
  { title: 'URL', cut: 'middle', min: 16, drop: 3 },
];

/** Adds the options to the command. */
export function addPageOptions(command: Command): Command {
  const text = (value: string) => value;
  return command
    .option(
      '--from-page <url>',
      'add the files of a folder’s listing, or those a web page links to',
    )
    .option(
      '--match <pattern>',
      'with --from-page: only files whose name fits, such as "*amd64*.iso"; may be repeated',
      repeated(text),
    )
    .option(
      '--kind <kind>',
      'with --from-page: only files of a category, such as images, or of an extension; may be repeated',
      repeated(text),
    )
    .option(
      '--depth <number>',
      `with --from-page: levels of folders to look into, 0 to ${MAX_DEPTH} (default: 0)`,
      wholeNumber(0, MAX_DEPTH),
    )
    .option('--dry-run', 'with --from-page: print what would be added, and add nothing')
    .option('-y, --yes', 'with --from-page: do not ask');
}

/** Refuses the options of pages without a page. @throws UsageError */
export function refuseWithoutPage(options: PageOptions): void {
  for (const name of ['match', 'kind', 'depth', 'dryRun', 'yes'] as const) {
    const typed = name === 'dryRun' ? 'dry-run' : name;
    if (options[name] !== undefined) throw new UsageError(`--${typed} needs --from-page`);
  }
}

/**
 * Finds what a page offers, prints it for `--dry-run`, and asks at a terminal before several are added.
 *
 * @returns the downloads; undefined: nothing is to be added
 * @throws UsageError if no link fits; MillraceError as `millrace.readPage`
 */
export async function downloadsOfPage(
  context: CliContext,
  report: Report,
  options: PageOptions & RequestOptions & { readonly start: boolean },
  from: string | undefined,
): Promise<PageDownload[] | undefined> {
  const asked = requestOf(downloadUrl(options.fromPage ?? ''), options, from);
  const { depth, dryRun = false } = options;
  const daemon = options.start ? await openOrStart(context, () => {}) : await openDaemon(context);
  let page: PageLinks;
  try {
    page = await daemon.call('millrace.readPage', {
      ...asked,
      ...(depth === undefined ? {} : { depth }),
    });
  } finally {
    daemon.close();
  }
  const downloadOf = ({ url, folder, dir }: PageLink): PageDownload =>
    folder === '' ? { url } : { url, dir: `${asked.dir ?? dir}/${folder}` };
  const fit = page.links.filter((link) => fits(link, options));
  const fresh = fit.filter(({ duplicate }) => duplicate?.same !== 'url');
  tell(report, page, fit.length - fresh.length);
  if (dryRun) {
    report.result({ page: page.url, listing: page.listing, links: fresh }, () => [
      ...table(COLUMNS, fresh.map(rowOf), report.width),
    ]);
    return undefined;
  }
  if (fit.length === 0) {
    throw new UsageError(`the page has ${counted(page.links.length, 'link')}, and none fits`);
  }
  const asks = options.yes !== true && !report.json && isPerson(context);
  if (!asks || fresh.length < 2) return fresh.map(downloadOf);
  for (const line of table(COLUMNS, fresh.map(rowOf), report.width)) {
    context.stdout.write(`${line}\n`);
  }
  if (!(await confirmed(context, `Add these ${counted(fresh.length, 'download')}?`)))
    return undefined;
  return fresh.map(downloadOf);
}

/** Without options, the daemon's choice counts: files of a listing, and links of known kinds. */
function fits({ name, category, wanted }: PageLink, { match, kind }: PageOptions): boolean {
  if (match === undefined && kind === undefined) return wanted;
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  const isKind = (one: string) => one === category || one.toLowerCase() === extension;
  return (kind?.some(isKind) ?? true) && (match?.some((one) => fitsPattern(name, one)) ?? true);
}

function tell(report: Report, page: PageLinks, duplicates: number): void {
  const { folders, truncated, unread } = page;
  if (duplicates > 0) {
    const are = duplicates === 1 ? 'is' : 'are';
    report.note(`${duplicates} ${are} in the list already, and left out.`);
  }
  if (folders > 0) {
    const were = folders === 1 ? 'folder was' : 'folders were';
    report.note(`${folders} ${were} not looked into; --depth goes deeper.`);
  }
  if (truncated) report.note('There are more links than these.');
  for (const { url, code } of unread) {
    report.note(`${url} could not be read: ${new MillraceError(code as ErrorCode).row.title}.`);
  }
}

function rowOf({ name, folder, size, category, url }: PageLink): string[] {
  return [
    folder === '' ? name : `${folder}/${name}`,
    size === undefined ? '' : formatBytes(size),
    category ?? '',
    url,
  ].map(printable);
}
