/** The options of `millrace get`: declared once, read into what the engine takes. */

import { MillraceError } from '@millrace/shared/base/errors';
import { parseDuration, parseRate } from '@millrace/shared/base/units';
import {
  algorithmNamed,
  DIGEST_DIGITS,
  type Digest,
  digestFromHex,
} from '@millrace/shared/download/digest';
import { REQUEST_DEFAULTS, type RedundancyMode } from '@millrace/shared/download/request';
import { Command, InvalidArgumentError, Option } from 'commander';

export interface GetOptions {
  readonly output: string | undefined;
  readonly dir: string;
  readonly edge: readonly string[];
  readonly edgesOnly: boolean;
  readonly mirror: readonly string[];
  readonly redundancy: RedundancyMode;
  readonly connections: number;
  readonly connectionsPerHost: number;
  readonly checksum: readonly Digest[];
  readonly findChecksum: boolean;
  readonly header: Readonly<Record<string, string>>;
  readonly user: { readonly user: string; readonly password: string } | undefined;
  readonly netrc: boolean;
  readonly cookies: string | undefined;
  readonly referer: string | undefined;
  readonly userAgent: string | undefined;
  readonly proxy: string | undefined;
  readonly limit: number | undefined;
  readonly overwrite: boolean;
  readonly timeout: number;
  readonly retryFor: number;
  readonly json: boolean;
  readonly quiet: boolean;
}

const MAX_CONNECTIONS = 32;
/** Declares `get`. */
export function getCommand(run: (urls: string[], options: GetOptions) => Promise<void>): Command {
  return new Command('get')
    .description('download files')
    .argument('<url...>', 'what to download; of *.meta4 and *.metalink, files as well')
    .option('-o, --output <file>', 'where to save it (with one URL)')
    .option('-d, --dir <folder>', 'folder to save in, under the name that the server gives', '.')
    .addOption(
      new Option('--edge <url>', 'edge to download through; may be repeated')
        .env('MILLRACE_EDGE')
        .argParser(collect(edgeUrl))
        .default([], 'none: directly'),
    )
    .option('--edges-only', 'never ask the origin itself, even if no edge can be used', false)
    .addOption(
      new Option('--mirror <url>', 'another URL of the same file (with one URL); may be repeated')
        .argParser((text: string, before: string[]) => [...before, text])
        .default([], 'none'),
    )
    .addOption(
      new Option('--redundancy <how>', 'what is fetched twice where a source is slow')
        .choices(['basic', 'aggressive', 'progress'])
        .default(REQUEST_DEFAULTS.redundancy),
    )
    .option(
      '--connections <number>',
      `connections at a time, 1 to ${MAX_CONNECTIONS}`,
      connections,
      REQUEST_DEFAULTS.connections,
    )
    .option(
      '--connections-per-host <number>',
      `connections to one host at a time, 1 to ${MAX_CONNECTIONS}`,
      connections,
      REQUEST_DEFAULTS.connectionsPerHost,
    )
    .addOption(
      new Option('--checksum <digest>', 'what the file must have, such as sha-256=HEX')
        .argParser((text: string, before: Digest[]) => [...before, checksum(text)])
        .default([], 'none'),
    )
    .option('--find-checksum', 'look for SHA256SUMS and the like beside the file', false)
    .addOption(
      new Option(
        '--header <field>',
        '"Name: value" for the origin; edges carry none, so the download is direct; may be repeated',
      )
        .argParser(headerField)
        .default({}, 'none'),
    )
    .addOption(
      new Option('--user <name:password>', 'log-in for the origin')
        .env('MILLRACE_USER')
        .argParser(login),
    )
    .option('--netrc', 'take the log-in from the netrc file', false)
    .option('--cookies <file>', 'cookies as browsers export them (cookies.txt)')
    .option('--referer <url>', 'page with the link')
    .option('--user-agent <text>', 'what to call ourselves')
    .option('--proxy <url>', 'http://, https:// or socks5:// proxy, or direct for none')
    .option('--limit <rate>', 'bytes per second, such as 500K or 2MiB/s', reading(parseRate))
    .option('--overwrite', 'replace a file of that name', false)
    .addOption(
      new Option('--timeout <time>', 'how long a server may be silent')
        .argParser(reading(parseDuration))
        .default(20_000, '20s'),
    )
    .addOption(
      new Option('--retry-for <time>', 'how long to go on without a single byte')
        .argParser(reading(parseDuration))
        .default(120_000, '2m'),
    )
    .option('--json', 'print one JSON object per line', false)
    .option('--quiet', 'print errors only', false)
    .addHelpText(
      'after',
      `
An interrupted download is resumed by the same command. Exit status: 0 done,
2 usage, 3 network, 4 refused by the server, 5 checksum mismatch, 6 file system,
7 the source is broken or the file changed, 130 interrupted, 1 anything else.
With several URLs it is that of the first that failed.`,
    )
    .action((urls: string[], options: GetOptions) => run(urls, options));
}

function reading<T>(read: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof MillraceError ? error.detail : String(error));
    }
  };
}

function collect(read: (text: string) => string): (text: string, before: string[]) => string[] {
  // The environment variable holds a list.
  return (text, before) => [...before, ...text.split(',').map((item) => read(item.trim()))];
}

function edgeUrl(text: string): string {
  try {
    const url = new URL(text.includes('://') ? text : `http://${text}`);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url.href;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('an edge is given as http://host:port');
}

function connections(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= MAX_CONNECTIONS) return number;
  throw new InvalidArgumentError(`a number from 1 to ${MAX_CONNECTIONS} is needed`);
}

function checksum(text: string): Digest {
  const [name = '', value = ''] = text.split('=');
  const algorithm = algorithmNamed(name.trim());
  if (algorithm === undefined) {
    throw new InvalidArgumentError('known are md5, sha-1, sha-224, sha-256, sha-384 and sha-512');
  }
  const digest = digestFromHex(algorithm, value.trim());
  if (digest !== undefined) return digest;
  throw new InvalidArgumentError(`${name} has ${DIGEST_DIGITS[algorithm]} hexadecimal digits`);
}

function login(text: string): { user: string; password: string } {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('a log-in is given as name:password');
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

function headerField(text: string, before: Record<string, string>): Record<string, string> {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\t\x20-\x7e\x80-\xff]*)$/.exec(text);
  if (!match) throw new InvalidArgumentError('a header field is given as "Name: value"');
  return { ...before, [(match[1] as string).toLowerCase()]: match[2] as string };
}
