/**
 * Lists of downloads as files: our own JSON with everything, aria2's session and input files, and
 * plain lists of URLs (which are aria2's input files without options).
 */

import { basename, isAbsolute } from 'node:path';
import type { Detail } from '@millrace/shared/base/error-table/particulars';
import { MillraceError } from '@millrace/shared/base/errors';
import { isExnodeLink } from '@millrace/shared/download/request/document-name';
import { linkWith } from '@millrace/shared/exnode/seal';
import { inTurns } from '../platform/turns.ts';
import { type DownloadRecord, FINISHED, isFinished } from '../store/record.ts';
import type { NewDownload } from './download-schema.ts';
import { withoutSecrets } from './secrets.ts';

export type Format = 'json' | 'urls' | 'aria2';

/** One download of a list. */
export interface Listed {
  /** Position in the list, for messages: a line number, or a number in the JSON. */
  readonly at: number;
  readonly download: NewDownload;
  /** aria2's options as they were written. */
  readonly options?: Readonly<Record<string, string | string[]>>;
  /** Outcome of a finished download. */
  readonly ended?: Pick<
    DownloadRecord,
    'state' | 'finishedAt' | 'createdAt' | 'length' | 'path' | 'error' | 'digest'
  >;
  /** True for a description that has been followed to its files: they are downloads of their own. */
  readonly isFollowed?: boolean;
  /** The description that has led to the file, by its gid in this list. */
  readonly following?: string;
}

const FORMAT = 1;
const MAX_LISTED = 20_000;

/**
 * Writes a list of downloads, in turns of the event loop. With `secrets` false, it leaves out passwords
 * and cookies.
 *
 * @param records read as they are written, so that each turn reads only its own
 */
export async function exportList(
  records: Iterable<DownloadRecord>,
  format: Format,
  secrets: boolean,
): Promise<string> {
  const line = LINES[format];
  const lines = await inTurns(records, (record) => line(secrets ? record : asPassedOn(record)));
  if (format !== 'json') return lines.join('');
  const downloads = lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n ]`;
  return `{\n "millrace": "downloads",\n "format": ${FORMAT},\n "downloads": ${downloads}\n}\n`;
}

/** Writers of one download, by format; a list in JSON puts commas between them. */
const LINES: Readonly<Record<Format, (record: DownloadRecord) => string>> = {
  json: (record) => JSON.stringify(toJson(record), null, 1).replace(/^/gm, '  '),
  urls: (record) => fromFileOnly(record) ?? followedUrl(record) ?? toUrl(record),
  aria2: (record) => fromFileOnly(record) ?? toSession(record),
};

/**
 * Reads a list in any of the formats, in turns of the event loop, except that JSON is parsed in one.
 *
 * @throws MillraceError `bad-option` if the text is not a list of downloads, or too long
 */
export async function importList(text: string, format: Format | undefined): Promise<Listed[]> {
  const isJson = format === undefined ? /^\s*\{/.test(text) : format === 'json';
  const listed = await (isJson ? fromJson(text) : fromSession(text));
  if (listed.length > MAX_LISTED) fail({ code: 'list-too-long', values: { most: MAX_LISTED } });
  return listed;
}

function asPassedOn(record: DownloadRecord): DownloadRecord {
  const options = { ...record.options, aria2: undefined };
  return { ...record, request: withoutSecrets(record.request), options };
}

function toJson(record: DownloadRecord): object {
  const { gid, state, request, priority, category, name, path, length } = record;
  const { createdAt, finishedAt, error, digest } = record;
  const { follows, following } = record.options;
  const ended = isFinished(state) ? { name, path, length, finishedAt, error, digest } : {};
  const follow = followOf(record);
  return {
    gid,
    state,
    priority,
    category,
    createdAt,
    request,
    follow,
    follows,
    following,
    ...ended,
  };
}

/**
 * Returns whether a description is followed, as far as the rest of a list does not say it: a name in a
 * list is the user's own, and a browser may have given this one.
 */
function followOf({ request, options }: DownloadRecord): DownloadRecord['options']['follow'] {
  const { follow, known } = options;
  return follow ?? (request.file !== undefined && known !== true ? true : undefined);
}

/** Returns a comment in place of a followed description: its link would be followed again. */
function followedUrl({ name, request, options }: DownloadRecord): string | undefined {
  if (options.follows === undefined) return undefined;
  const what = `${name}: followed to its files, which are listed themselves`;
  return `# ${oneLine(what)}; only a JSON list keeps it: ${linksOf(request)[0]}\n`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}

/**
 * Returns a comment in place of a download that came from the file of an exNode: there is no link to
 * it that a list could have.
 */
function fromFileOnly({ name, request }: DownloadRecord): string | undefined {
  if (request.exnode === undefined || isExnodeLink(request.urls[0] as string)) return undefined;
  return `# ${oneLine(name)}: from an exNode, which only a JSON list can have\n`;
}

/** Returns the links of a download; that to an exNode has its key, if secrets are not left out. */
function linksOf({ urls, exnode }: DownloadRecord['request']): readonly string[] {
  return exnode === undefined ? urls : [linkWith(urls[0] as string, exnode)];
}

function toUrl({ request }: DownloadRecord): string {
  return `${linksOf(request)[0]}\n`;
}

function toSession(record: DownloadRecord): string {
  const { request, state, gid, path } = record;
  const lines = [linksOf(request).join('\t'), ` gid=${gid}`, ` dir=${request.dir}`];
  const out = request.file ?? (path === undefined ? undefined : basename(path));
  if (out !== undefined) lines.push(` out=${out}`);
  for (const [name, value] of Object.entries(request.headers)) {
    lines.push(` header=${name}: ${value}`);
  }
  if (request.login !== undefined) {
    lines.push(` http-user=${request.login.user}`, ` http-passwd=${request.login.password}`);
  }
  const [digest] = request.digests;
  if (digest !== undefined) {
    lines.push(` checksum=${digest.algorithm.replace('sha', 'sha-')}=${digest.hex}`);
  }
  if (request.limit !== undefined) lines.push(` max-download-limit=${request.limit}`);
  if (state === 'paused') lines.push(' pause=true');
  lines.push(...followLines(record));
  // A line end in a value would begin another option.
  return lines.map((line) => `${oneLine(line)}\n`).join('');
}

/**
 * Returns aria2's options for following a description. A session cannot say that a description has led
 * to a file: neither is followed again.
 */
function followLines(record: DownloadRecord): string[] {
  const { follows, following } = record.options;
  const isLinked = follows !== undefined || following !== undefined;
  const follow = isLinked ? false : followOf(record);
  if (follow === undefined || follow === true) return [];
  const { torrent, metalink } =
    typeof follow === 'object' ? follow : { torrent: follow, metalink: follow };
  return [` follow-torrent=${torrent}`, ` follow-metalink=${metalink}`];
}

async function fromSession(text: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  let options: Record<string, string | string[]> = {};
  await inTurns(linesOf(text), (line, i) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    if (/^\s/.test(line)) {
      const [, name, value] = /^\s+([^=\s]+)=(.*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) return;
      const headers = options.header;
      if (name !== 'header') options[name] = value;
      else if (Array.isArray(headers)) headers.push(value);
      else options.header = [value];
      return;
    }
    options = {};
    const urls = line.split('\t').map((url) => url.trim());
    listed.push({
      at: i + 1,
      download: { urls: urls.filter((url) => url !== '') },
      options,
    });
  });
  return listed;
}

/** Cuts a text at its line ends as it is read. */
function* linesOf(text: string): Generator<string> {
  for (let at = 0; at <= text.length; ) {
    const found = text.indexOf('\n', at);
    const end = found < 0 ? text.length : found;
    const isPair = found >= 0 && text[end - 1] === '\r' && end > at;
    yield text.slice(at, isPair ? end - 1 : end);
    at = end + 1;
  }
}

function fromJson(text: string): Promise<Listed[]> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    fail({ code: 'list-not-json' });
  }
  const value = (parsed ?? {}) as { millrace?: unknown; format?: unknown; downloads?: unknown };
  if (value.millrace !== 'downloads' || !Array.isArray(value.downloads)) {
    fail({ code: 'list-not-downloads' });
  }
  if (value.format !== FORMAT) fail({ code: 'list-newer' });
  const items = value.downloads as readonly Record<string, unknown>[];
  if (items.length > MAX_LISTED) fail({ code: 'list-too-long', values: { most: MAX_LISTED } });
  return inTurns(items, (item, i): Listed => {
    const { gid, state, priority, category, request, follow, following, follows } = item ?? {};
    const finished = FINISHED.find((known) => known === state);
    const download = {
      ...(request as NewDownload),
      // No list runs anything on this machine, not even one that the user trusts.
      after: undefined,
      ...(typeof gid === 'string' ? { gid } : {}),
      ...(typeof priority === 'number' ? { priority } : {}),
      ...(typeof category === 'string' ? { category } : {}),
      ...(state === 'paused' ? { paused: true } : {}),
      ...(follow === undefined ? {} : { follow: follow as NewDownload['follow'] }),
    };
    const listed = {
      at: i + 1,
      download,
      ...(typeof following === 'string' ? { following } : {}),
    };
    if (finished === undefined) return listed;
    const isFollowed = finished === 'complete' && (follows === 'done' || follows === 'remove');
    return { ...listed, ended: endedOf(item, finished), ...(isFollowed ? { isFollowed } : {}) };
  });
}

function endedOf(
  item: Record<string, unknown>,
  state: (typeof FINISHED)[number],
): NonNullable<Listed['ended']> {
  const number = (name: string) =>
    Number.isSafeInteger(item[name]) ? (item[name] as number) : undefined;
  const { path, error } = item as { path?: unknown; error?: Record<string, unknown> };
  return {
    state,
    finishedAt: number('finishedAt') ?? 0,
    createdAt: number('createdAt') ?? 0,
    length: (number('length') ?? -1) < 0 ? undefined : number('length'),
    path: typeof path === 'string' && isAbsolute(path) && !path.includes('\0') ? path : undefined,
    error:
      typeof error === 'object' && error !== null
        ? {
            code: textOf(error.code),
            message: textOf(error.message),
            detail: textOf(error.detail),
          }
        : undefined,
    digest: undefined,
  };
}

/**
 * Returns text as it is, and an empty string for other values: an object's own `toString` is not
 * called.
 */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function fail(why: Detail): never {
  throw new MillraceError('bad-option', { code: 'list-not-read', values: { why } });
}
