/** The options of a download, for every command that takes a URL. */

import type { Digest } from '@millrace/shared/base/digest';
import { parseBytes, parseDuration, parseRate } from '@millrace/shared/base/unit-options';
import type { Follow } from '@millrace/shared/download/after/follow';
import {
  LOCI_LIMITS,
  REQUEST_DEFAULTS,
  type RedundancyMode,
} from '@millrace/shared/download/request/request';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Login } from '../../engine/net/credentials.ts';
import {
  cookieValue,
  digestValue,
  headerValue,
  reading,
  repeated,
  urlValue,
  wholeNumber,
} from '../text/option-values.ts';

/** The options as commander gives them; omitted ones are absent. */
export interface RequestOptions {
  readonly output?: string;
  readonly dir?: string;
  readonly mirror?: readonly string[];
  readonly edge?: readonly string[];
  readonly edgesOnly?: boolean;
  readonly connections?: number;
  readonly connectionsPerHost?: number;
  readonly redundancy?: RedundancyMode;
  readonly copies?: number;
  readonly lateAfter?: number;
  readonly blockSize?: number;
  readonly lookAhead?: number;
  readonly checksum?: readonly Digest[];
  readonly findChecksum?: boolean;
  readonly key?: readonly string[];
  readonly signature?: readonly string[];
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
/** Silence of all sources, ms, after which a download fails; the daemon uses the same time. */
export const RETRY_FOR_MS = 120_000;

const connections = wholeNumber(1, MAX_CONNECTIONS);
const { connections: many, connectionsPerHost: manyPerHost, timeoutMs } = REQUEST_DEFAULTS;

/** No option has a default here: the engine chooses it. */
const DECLARED = {
  output: () => new Option('-o, --output <file>', 'name or path to save it under (with one URL)'),
  dir: () => new Option('-d, --dir <folder>', 'folder to save in'),
  mirror: () => several('--mirror <url>', 'another URL of the same file (with one URL)', urlValue),
  edge: () =>
    new Option('--edge <url>', 'edge to download through; may be repeated')
      .env('MILLRACE_EDGE')
      .argParser(edgeValues),
  edgesOnly: () =>
    new Option('--edges-only', 'never ask the origin directly, even if no edge can be used'),
  connections: () =>
    new Option(
      '--connections <number>',
      `most requests at a time, 1 to ${MAX_CONNECTIONS}; fewer are made where more bring nothing`,
    ).argParser(connections),
  connectionsPerHost: () =>
    new Option(
      '--connections-per-host <number>',
      `most requests at a time to one host, 1 to ${MAX_CONNECTIONS}`,
    ).argParser(connections),
  redundancy: () =>
    new Option(
      '--redundancy <how>',
      "choose blocks as an algorithm of the paper does, to study it (default: Millrace's own)",
    ).choices(MODES),
  copies: () =>
    new Option(
      '--copies <number>',
      `with --redundancy: most requests for a block at a time, R, 1 to ${LOCI_LIMITS.copies} (default: 3; basic 1)`,
    ).argParser(wholeNumber(1, LOCI_LIMITS.copies)),
  lateAfter: () =>
    new Option(
      '--late-after <number>',
      'with --redundancy progress: complete blocks after which an earlier one is late, P (default: 6)',
    ).argParser(wholeNumber(0, LOCI_LIMITS.progress)),
  blockSize: () =>
    new Option(
      '--block-size <size>',
      'with --redundancy: size of a block, 64KiB to 1GiB (default: 2MiB)',
    ).argParser(blockBytes),
  lookAhead: () =>
    new Option(
      '--look-ahead <size>',
      'with --redundancy: fetch no block further on from the first missing byte (default: no bound)',
    ).argParser(reading(parseBytes)),
  checksum: () =>
    several(
      '--checksum <digest>',
      'digest that the file must have, such as sha-256=HEX',
      digestValue,
    ),
  findChecksum: () =>
    new Option('--find-checksum', 'look for SHA256SUMS and the like beside the file'),
  key: () =>
    several(
      '--key <file>',
      'public key, of OpenPGP or minisign, that may sign the file; looks for signatures',
      oneFile,
    ),
  signature: () =>
    several('--signature <file>', 'signature of the whole file (with one URL)', oneFile),
  header: () =>
    several(
      '--header <field>',
      '"Name: value" for the origin; edges carry none, so the download is direct',
      headerValue,
    ),
  cookie: () => several('--cookie <name=value>', 'cookie for the origin', cookieValue),
  cookies: () =>
    new Option('--cookies <file>', 'file with cookies as browsers export them (cookies.txt)'),
  referer: () =>
    new Option('--referer <url>', 'address of the page with the link').argParser(oneUrl),
  userAgent: () =>
    new Option('--user-agent <text>', 'name that Millrace gives to servers').argParser(visibleText),
  user: () =>
    new Option('--user <name:password>', 'log-in for the origin')
      .env('MILLRACE_USER')
      .argParser(loginValue),
  netrc: () => new Option('--netrc', 'take the log-in from the netrc file'),
  proxy: () =>
    new Option(
      '--proxy <url>',
      'http://, https:// or socks5:// proxy, direct for none, system for the system’s settings',
    ).argParser(proxyValue),
  limit: () =>
    new Option('--limit <rate>', 'bytes per second, such as 500K or 2MiB/s').argParser(
      reading(parseRate),
    ),
  overwrite: () => new Option('--overwrite', 'replace an existing file of that name'),
  timeout: () =>
    new Option('--timeout <time>', 'longest silence of a server').argParser(reading(parseDuration)),
  retryFor: () =>
    new Option('--retry-for <time>', 'longest time without a single byte').argParser(
      reading(parseDuration),
    ),
} satisfies Record<keyof RequestOptions, () => Option>;

/** Defaults as help shows them. */
const ASSUMED: Readonly<Partial<Record<string, string>>> = {
  connections: `${many}`,
  connectionsPerHost: `${manyPerHost}`,
  timeout: `${timeoutMs / 1000}s`,
  retryFor: `${RETRY_FOR_MS / 60_000}m`,
};

/**
 * Adds all options to a command.
 *
 * @param folder where files go without `-d`, in words
 */
export function addRequestOptions(command: Command, folder: string): Command {
  for (const [name, declare] of Object.entries(DECLARED)) {
    const option = declare();
    const assumed = name === 'dir' ? folder : ASSUMED[name];
    if (assumed !== undefined) option.description += ` (default: ${assumed})`;
    command.addOption(option);
  }
  return command;
}

/** Name of the resolver that finds the link; false: none is asked. */
export interface ResolverOptions {
  readonly resolver?: string | false;
}

export function addResolverOptions(command: Command): Command {
  return command
    .option('--resolver <name>', 'let this resolver find the link to the file (see "resolvers")')
    .option('--no-resolver', 'take the URL as it is, also if a resolver is for it');
}

/** Whether torrents and metalinks are followed to the files that they describe. */
export interface FollowOption {
  readonly follow?: Follow;
}

/** Adds the option to a command. @param assumed what is done without it, in words */
export function addFollowOption(command: Command, assumed: string): Command {
  const option = new Option(
    '--follow <how>',
    `a torrent or metalink at a URL: true: download its files and keep it; mem: and do not keep it; false: keep it only (default: ${assumed})`,
  ).choices(['true', 'false', 'mem']);
  const { parseArg } = option;
  return command.addOption(
    option.argParser((text: string): Follow => {
      const chosen = String(parseArg?.(text, undefined) ?? text);
      return chosen === 'mem' ? 'mem' : chosen === 'true';
    }),
  );
}

/** Returns one option, for commands that have only some. */
export function requestOption(name: keyof RequestOptions): Option {
  return DECLARED[name]();
}

/** Options for the daemon's queue, besides those of the download itself. */
export interface QueueOptions {
  readonly priority?: number;
  readonly position?: number;
  readonly category?: string;
}

export function addQueueOptions(command: Command): Command {
  return command
    .option(
      '--priority <number>',
      '-100 to 100; higher priorities go first',
      wholeNumber(-100, 100),
    )
    .option('--position <number>', 'place in the queue, from 0', wholeNumber(0, 100_000))
    .option('--category <name>', 'category, which may choose the folder');
}

function several<T>(flags: string, description: string, read: (text: string) => T): Option {
  return new Option(flags, `${description}; may be repeated`).argParser(
    repeated((text) => read(text)),
  );
}

/** Reads a list of edges, as the environment variable holds it; an empty list means none. */
export function edgeValues(text: string, before?: string[]): string[] {
  const items = text.split(',').map((item) => item.trim());
  const urls = items.filter((item) => item !== '').map((item) => urlValue(item, ['http', 'https']));
  return [...(before ?? []), ...urls];
}

/** Reads the size of a block. */
function blockBytes(text: string): number {
  const bytes = reading(parseBytes)(text);
  const { minBlockBytes, maxBlockBytes } = LOCI_LIMITS;
  if (bytes >= minBlockBytes && bytes <= maxBlockBytes) return bytes;
  throw new InvalidArgumentError('a size from 64KiB to 1GiB is needed');
}

/** Paths stay as they are typed. */
function oneFile(path: string): string {
  if (path !== '') return path;
  throw new InvalidArgumentError('the name of a file is needed');
}

function oneUrl(text: string): string {
  return urlValue(text);
}

function proxyValue(text: string): string {
  if (text === 'direct' || text === 'system') return text;
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
