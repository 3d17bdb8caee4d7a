/** The options that say what to download and how: for every command that takes a URL. */

import { basename, dirname, resolve, sep } from 'node:path';
import { parseDuration, parseRate } from '@millrace/shared/base/units';
import type { Digest } from '@millrace/shared/download/digest';
import type { DownloadRequest, RedundancyMode } from '@millrace/shared/download/request';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  cookieValue,
  digestValue,
  headerValue,
  reading,
  repeated,
  UsageError,
  urlValue,
  wholeNumber,
} from './option-values.ts';

interface Login {
  readonly user: string;
  readonly password: string;
}

/** The options as commander gives them; what was not given is not there. */
export interface RequestOptions {
  readonly output?: string;
  readonly dir?: string;
  readonly mirror?: readonly string[];
  readonly edge?: readonly string[];
  readonly edgesOnly?: boolean;
  readonly connections?: number;
  readonly connectionsPerHost?: number;
  readonly redundancy?: RedundancyMode;
  readonly checksum?: readonly Digest[];
  readonly findChecksum?: boolean;
  readonly header?: readonly (readonly [string, string])[];
  readonly cookie?: readonly string[];
  readonly cookies?: string;
  readonly referer?: string;
  readonly userAgent?: string;
  readonly user?: Login;
  readonly netrc?: boolean;
  readonly proxy?: string;
  readonly limit?: number;
  readonly overwrite?: boolean;
  readonly timeout?: number;
  readonly retryFor?: number;
}

const MAX_CONNECTIONS = 32;
const MODES: readonly RedundancyMode[] = ['basic', 'aggressive', 'progress'];

/** Declares the options. Nothing has a default here: the engine knows them. */
export function addRequestOptions(command: Command): Command {
  const many = <T>(flags: string, description: string, read: (text: string) => T) =>
    new Option(flags, `${description}; may be repeated`).argParser(repeated(read));
  const connections = wholeNumber(1, MAX_CONNECTIONS);
  return command
    .option('-o, --output <file>', 'name or path to save it under (with one URL)')
    .option('-d, --dir <folder>', 'folder to save in')
    .addOption(many('--mirror <url>', 'another URL of the same file (with one URL)', urlValue))
    .addOption(
      new Option('--edge <url>', 'edge to download through; may be repeated')
        .env('MILLRACE_EDGE')
        // The environment variable holds a list.
        .argParser((text: string, before: string[] | undefined) => [
          ...(before ?? []),
          ...text.split(',').map((item) => urlValue(item.trim(), ['http', 'https'])),
        ]),
    )
    .option('--edges-only', 'never ask the origins themselves')
    .option('--connections <number>', `requests at a time, 1 to ${MAX_CONNECTIONS}`, connections)
    .option('--connections-per-host <number>', 'requests at a time to one host', connections)
    .addOption(
      new Option('--redundancy <mode>', 'which blocks may be fetched twice').choices(MODES),
    )
    .addOption(many('--checksum <digest>', 'what the file must have: sha-256=HEX', digestValue))
    .option('--find-checksum', 'look for SHA256SUMS and the like beside the file')
    .addOption(many('--header <field>', '"Name: value" for the origins', headerValue))
    .addOption(many('--cookie <name=value>', 'cookie for the origins', cookieValue))
    .option('--cookies <file>', 'cookies as browsers export them (cookies.txt)')
    .option('--referer <url>', 'page with the link', (text: string) => urlValue(text))
    .option('--user-agent <text>', 'what to call ourselves', visibleText)
    .addOption(
      new Option('--user <name:password>', 'log-in for the origin')
        .env('MILLRACE_USER')
        .argParser(loginValue),
    )
    .option('--netrc', 'take the log-in from the netrc file')
    .option('--proxy <url>', 'http://, https:// or socks5:// proxy; "direct" for none', proxyValue)
    .option('--limit <rate>', 'bytes per second, such as 500K or 2MiB/s', reading(parseRate))
    .option('--overwrite', 'replace a file of that name')
    .option('--timeout <time>', 'how long a server may be silent', reading(parseDuration))
    .option(
      '--retry-for <time>',
      'how long to go on without a single byte',
      reading(parseDuration),
    );
}

/**
 * The request of one download.
 *
 * @param url the first URL
 * @param cwd folder that relative paths are meant from
 * @returns only what was asked for; the rest is the engine's choice
 * @throws UsageError for options that contradict each other
 */
export function requestOf(
  url: string,
  options: RequestOptions,
  cwd: string,
): Pick<DownloadRequest, 'urls'> & Partial<DownloadRequest> {
  const headers = headersOf(options);
  const { cookies } = options;
  return {
    urls: [url, ...(options.mirror ?? [])],
    ...placeOf(options, cwd),
    ...given('edges', options.edge),
    ...given('direct', options.edgesOnly === true ? false : undefined),
    ...given('connections', options.connections),
    ...given('connectionsPerHost', options.connectionsPerHost),
    ...given('redundancy', options.redundancy),
    ...given('digests', options.checksum),
    ...given('sidecars', options.findChecksum),
    ...given('headers', Object.keys(headers).length === 0 ? undefined : headers),
    ...given('cookieFile', cookies === undefined ? undefined : resolve(cwd, cookies)),
    ...given('netrc', options.netrc),
    ...given('proxy', options.proxy),
    ...given('limit', options.limit),
    ...given('overwrite', options.overwrite),
    ...given('timeoutMs', options.timeout),
    ...given('retryForMs', options.retryFor),
  };
}

function given<K extends keyof DownloadRequest>(
  key: K,
  value: DownloadRequest[K] | undefined,
): Partial<DownloadRequest> {
  return value === undefined ? {} : { [key]: value };
}

/** A bare name is one in the folder; what looks like a path is meant from where the user is. */
function placeOf({ output, dir }: RequestOptions, cwd: string): { dir?: string; file?: string } {
  const folder = dir === undefined ? {} : { dir: resolve(cwd, dir) };
  if (output === undefined) return folder;
  if (output === '' || output.endsWith('/') || output.endsWith(sep)) {
    throw new UsageError('-o names a file; a folder is given with -d');
  }
  if (dir !== undefined || !(output.includes('/') || output.includes(sep))) {
    return { ...folder, file: output };
  }
  const path = resolve(cwd, output);
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
    throw new UsageError('--user and an Authorization field are one too many');
  }
  const { user, password } = options.user;
  // RFC 7617, with UTF-8.
  headers.authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return headers;
}

function proxyValue(text: string): string {
  if (text === 'direct') return text;
  return urlValue(text, ['http', 'https', 'socks5', 'socks5h', 'socks4', 'socks4a']);
}

function loginValue(text: string): Login {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('a log-in is given as name:password');
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

function visibleText(text: string): string {
  if (/^[\t\x20-\x7e]+$/.test(text)) return text;
  throw new InvalidArgumentError('only visible characters of ASCII can be sent');
}
