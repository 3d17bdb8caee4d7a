/** Converts options of the command line to requests of the engine and the daemon. */

import { basename, dirname, resolve, sep } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  type DownloadRequest,
  LOCI_DEFAULTS,
  type LociRules,
  REQUEST_DEFAULTS,
} from '@millrace/shared/download/request/request';
import { basicAuthorization, withoutLogin } from '../../engine/net/credentials.ts';
import { UsageError, urlValue } from '../text/option-values.ts';
import { textsOf } from './key-files.ts';
import { RETRY_FOR_MS, type RequestOptions } from './request-options.ts';

/** Members that the user asked for; the engine chooses the rest. */
export type AskedRequest = Pick<DownloadRequest, 'urls'> & Partial<DownloadRequest>;

/**
 * Reads a URL as typed; a URL without a scheme gets https://.
 *
 * @throws MillraceError `bad-url`, which does not show a password
 */
export function downloadUrl(text: string): string {
  try {
    return urlValue(text);
  } catch {
    throw new MillraceError('bad-url', withoutLogin(text));
  }
}

/** Completes a request for a download in this process. @param cwd the folder if -d is not given */
export function wholeRequest(asked: AskedRequest, cwd: string): DownloadRequest {
  return { ...REQUEST_DEFAULTS, retryForMs: RETRY_FOR_MS, dir: cwd, ...asked };
}

/**
 * Returns the request of one download.
 *
 * @param url the first URL
 * @param cwd folder that relative paths start from; undefined: paths are those of another machine,
 *   and stay as they are
 * @throws UsageError for options that contradict each other
 */
export function requestOf(
  url: string,
  options: RequestOptions,
  cwd: string | undefined,
): AskedRequest {
  const headers = headersOf(options);
  const { cookies } = options;
  return {
    urls: [url, ...(options.mirror ?? [])],
    ...placeOf(options, cwd),
    ...given('edges', options.edge),
    ...given('direct', options.edgesOnly === true ? false : undefined),
    ...given('connections', options.connections),
    ...given('connectionsPerHost', options.connectionsPerHost),
    ...given('loci', lociOf(options)),
    ...given('digests', options.checksum),
    ...given('sidecars', options.findChecksum),
    ...given('keys', textsOf(options.key, cwd ?? process.cwd())),
    ...given('signatures', textsOf(options.signature, cwd ?? process.cwd())),
    ...given('headers', Object.keys(headers).length === 0 ? undefined : headers),
    ...given('cookieFile', cookies === undefined ? undefined : resolve(cwd ?? '', cookies)),
    ...given('netrc', options.netrc),
    ...given('proxy', options.proxy),
    ...given('limit', options.limit),
    ...given('overwrite', options.overwrite),
    ...given('timeoutMs', options.timeout),
    ...given('retryForMs', options.retryFor),
  };
}

/** Returns the rules of the paper's algorithm. @throws UsageError for values without an algorithm */
function lociOf(options: RequestOptions): LociRules | undefined {
  const { redundancy, copies, lateAfter, blockSize, lookAhead } = options;
  const values = {
    copies,
    'late-after': lateAfter,
    'block-size': blockSize,
    'look-ahead': lookAhead,
  };
  const alone = Object.entries(values).find(([, value]) => value !== undefined)?.[0];
  if (redundancy === undefined) {
    if (alone !== undefined) throw new UsageError(`--${alone} needs --redundancy`);
    return undefined;
  }
  if (redundancy === 'basic' && copies !== undefined && copies > 1) {
    throw new UsageError('--redundancy basic fetches every block once: --copies is 1');
  }
  if (redundancy !== 'progress' && lateAfter !== undefined) {
    throw new UsageError('--late-after needs --redundancy progress');
  }
  const assumed = LOCI_DEFAULTS[redundancy];
  return {
    copies: copies ?? assumed.copies,
    progress: lateAfter ?? assumed.progress,
    blockBytes: blockSize ?? assumed.blockBytes,
    ...(lookAhead === undefined ? {} : { lookAheadBytes: lookAhead }),
  };
}

function given<K extends keyof DownloadRequest>(
  key: K,
  value: DownloadRequest[K] | undefined,
): Partial<DownloadRequest> {
  return value === undefined ? {} : { [key]: value };
}

/**
 * Returns folder and file name. A bare name belongs to the folder; a path without -d is relative to
 * the current folder.
 */
function placeOf(
  { output, dir }: RequestOptions,
  cwd: string | undefined,
): { dir?: string; file?: string } {
  const from = (path: string) => (cwd === undefined ? path : resolve(cwd, path));
  const folder = dir === undefined ? {} : { dir: from(dir) };
  if (output === undefined) return folder;
  if (output === '' || output.endsWith('/') || output.endsWith(sep)) {
    throw new UsageError('-o names a file; a folder is given with -d');
  }
  if (dir !== undefined || !(output.includes('/') || output.includes(sep))) {
    return { ...folder, file: output };
  }
  const path = from(output);
  return { dir: dirname(path), file: basename(path) };
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = Object.fromEntries(options.header ?? []);
  const cookies = [headers.cookie ?? [], options.cookie ?? []].flat();
  if (cookies.length > 0) headers.cookie = cookies.join('; ');
  if (options.referer !== undefined) headers.referer = options.referer;
  if (options.userAgent !== undefined) headers['user-agent'] = options.userAgent;
  if (options.user === undefined) return headers;
  if (headers.authorization !== undefined) {
    throw new UsageError('give --user (or MILLRACE_USER) or an Authorization field, not both');
  }
  headers.authorization = basicAuthorization(options.user);
  return headers;
}

/**
 * Refuses options that apply to one file only.
 *
 * @throws UsageError if one of them is given
 */
export function refuseOneFileOptions(options: RequestOptions): void {
  for (const name of ['output', 'mirror', 'checksum', 'signature'] as const) {
    if (options[name] === undefined) continue;
    throw new UsageError(`--${name} is for one file: give one URL with it`);
  }
}
