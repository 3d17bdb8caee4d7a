/** aria2's options: names, defaults, and their meaning here. */

import { DIGEST_ALGORITHMS, type DigestAlgorithm } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_PER_HOST } from '@millrace/shared/download/transfer/host-limits';
import type { Change, NewDownload } from '../../downloads/new-download.ts';
import { aria2Error } from '../calls/rpc-error.ts';

export type Aria2Options = Readonly<Record<string, string>>;

type Kind = 'text' | 'flag' | 'number' | 'size' | RegExp;

/** Options of a download, with allowed values and defaults. */
const DOWNLOAD_OPTIONS: Readonly<Record<string, readonly [Kind, string?]>> = {
  'all-proxy': ['text'],
  'all-proxy-passwd': ['text'],
  'all-proxy-user': ['text'],
  'allow-overwrite': ['flag', 'false'],
  'auto-file-renaming': ['flag', 'true'],
  checksum: [/^[a-z0-9-]+=[0-9a-f]+$/i],
  'connect-timeout': ['number', '60'],
  continue: ['flag', 'true'],
  dir: ['text'],
  'file-allocation': [/^(?:none|prealloc|trunc|falloc)$/, 'none'],
  gid: [/^[0-9a-f]{16}$/i],
  header: ['text'],
  'http-passwd': ['text'],
  'http-proxy': ['text'],
  'http-user': ['text'],
  'https-proxy': ['text'],
  'max-connection-per-server': ['number'],
  'max-download-limit': ['size', '0'],
  'max-tries': ['number', '5'],
  'max-upload-limit': ['size', '0'],
  'min-split-size': ['size', '20971520'],
  out: ['text'],
  pause: ['flag', 'false'],
  'piece-length': ['size', '1048576'],
  referer: ['text'],
  'remote-time': ['flag', 'false'],
  'retry-wait': ['number', '0'],
  split: ['number'],
  timeout: ['number', '60'],
  'user-agent': ['text'],
};

/** Further options of the daemon. */
const GLOBAL_OPTIONS: Readonly<Record<string, readonly [Kind, string?]>> = {
  'max-concurrent-downloads': ['number'],
  'max-overall-download-limit': ['size', '0'],
  'max-overall-upload-limit': ['size', '0'],
};

/**
 * Options that would change the downloaded bytes and are not supported. They are refused instead of
 * being ignored.
 */
const REFUSED: ReadonlySet<string> = new Set(['load-cookies', 'select-file', 'index-out']);

const MAX_VALUE_CHARS = 16_384;

/**
 * Reads options as a client sends them: text, or lists of text. Leaves out unknown options, like
 * aria2.
 *
 * @throws RpcError in aria2's words for an invalid value
 */
export function readOptions(given: unknown, global: boolean): Record<string, string> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw aria2Error('The parameter at 1 has wrong type.');
  }
  const options: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (REFUSED.has(name)) throw problem(name);
    const known = kindOf(name, global);
    if (known === undefined) continue;
    const text = Array.isArray(value) ? value.map(String).join('\n') : String(value);
    if (text.length > MAX_VALUE_CHARS || !fits(known, text)) throw problem(name);
    options[name] = text;
  }
  return options;
}

/**
 * Returns the kind of an option; undefined for an unknown one, also if every object inherits a
 * member of that name.
 */
function kindOf(name: string, global: boolean): Kind | undefined {
  if (Object.hasOwn(DOWNLOAD_OPTIONS, name)) return DOWNLOAD_OPTIONS[name]?.[0];
  return global && Object.hasOwn(GLOBAL_OPTIONS, name) ? GLOBAL_OPTIONS[name]?.[0] : undefined;
}

function problem(name: string) {
  return aria2Error(`We encountered a problem while processing the option '--${name}'.`);
}

function fits(kind: Kind, text: string): boolean {
  if (kind === 'text') return !text.includes('\0');
  if (kind === 'flag') return text === 'true' || text === 'false';
  if (kind === 'number') return /^\d{1,9}$/.test(text);
  if (kind === 'size') return /^\d{1,12}[KkMm]?$/.test(text);
  return kind.test(text);
}

/** Returns the bytes of a size such as `1024`, `100K` or `5M`. */
export function sizeOf(text: string): number {
  const factor = /k$/i.test(text) ? 1024 : /m$/i.test(text) ? 1024 ** 2 : 1;
  return Number.parseInt(text, 10) * factor;
}

/** Makes a download's default options. */
export function defaultOptions(): Record<string, string> {
  const rows = Object.entries(DOWNLOAD_OPTIONS).flatMap(([name, [, value]]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(rows);
}

/** Makes a new download from the daemon's options, overridden by the given ones. */
export function toNewDownload(
  options: Aria2Options,
  given: Aria2Options,
): Omit<NewDownload, 'urls'> {
  const all = { ...options, ...given };
  return {
    ...toChange(all),
    ...(given.gid === undefined ? {} : { gid: given.gid.toLowerCase() }),
    ...(all.pause === 'true' ? { paused: true } : {}),
    aria2: given,
  };
}

/** A change without those ways of taking a setting back that aria2 cannot express. */
type Aria2Change = Omit<Change, 'limit' | 'login' | 'startAt' | 'category'> &
  Pick<NewDownload, 'limit' | 'login'>;

/** Turns options into a change of a download. */
export function toChange(options: Aria2Options): Aria2Change {
  const change: Aria2Change = {};
  if (options.dir) change.dir = options.dir;
  if (options.out) change.file = options.out.replace(/^[/\\]+/, '');
  const headers = headersOf(options);
  if (headers !== undefined) change.headers = headers;
  const user = options['http-user'];
  if (user) change.login = { user, password: options['http-passwd'] ?? '' };
  const proxy = proxyOf(options);
  if (proxy !== undefined) change.proxy = proxy;
  if (options.checksum) change.digests = [digestOf(options.checksum)];
  if (options.split) change.connections = bounded(options.split);
  const perServer = options['max-connection-per-server'];
  if (perServer) change.connectionsPerHost = bounded(perServer);
  else if (options.split) change.connectionsPerHost = bounded(options.split);
  const limit = sizeOf(options['max-download-limit'] ?? '0');
  if (limit > 0) change.limit = limit;
  if (options['allow-overwrite']) change.overwrite = options['allow-overwrite'] === 'true';
  if (options['auto-file-renaming']) change.rename = options['auto-file-renaming'] === 'true';
  if (options['max-tries']) change.maxTries = Number(options['max-tries']);
  const timeout = Number(options.timeout ?? 0);
  if (timeout > 0) change.timeoutMs = Math.min(86_400, timeout) * 1000;
  return change;
}

function bounded(text: string): number {
  return Math.min(MAX_PER_HOST, Math.max(1, Number(text)));
}

/** Makes the header fields; undefined if no option is about header fields. */
function headersOf(options: Aria2Options): Record<string, string> | undefined {
  const { header, referer } = options;
  const headers: Record<string, string> = {};
  for (const line of (header ?? '').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0)
      headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
    else if (line.trim() !== '') throw problem('header');
  }
  if (referer) headers.referer = referer;
  if (options['user-agent']) headers['user-agent'] = options['user-agent'];
  return Object.keys(headers).length === 0 ? undefined : headers;
}

function proxyOf(options: Aria2Options): string | undefined {
  const text = options['all-proxy'] || options['https-proxy'] || options['http-proxy'];
  if (text === undefined) return undefined;
  // In aria2 an empty value means no proxy, whatever the environment says.
  if (text === '') return 'direct';
  try {
    const url = new URL(text.includes('://') ? text : `http://${text}`);
    if (options['all-proxy-user']) url.username = options['all-proxy-user'];
    if (options['all-proxy-passwd']) url.password = options['all-proxy-passwd'];
    return url.href;
  } catch {
    throw problem('all-proxy');
  }
}

function digestOf(text: string): { algorithm: DigestAlgorithm; hex: string } {
  const [name = '', hex = ''] = text.toLowerCase().split('=');
  const algorithm = DIGEST_ALGORITHMS.find((known) => known === name.replace('-', ''));
  if (algorithm === undefined) throw problem('checksum');
  return { algorithm, hex };
}

/** Turns an error of ours into aria2's words, if aria2 has an option for it. */
export function translate(error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error;
  const option = /^(dir|file|headers|proxy|digests|connections)/.exec(error.detail)?.[1];
  const names: Readonly<Record<string, string>> = {
    file: 'out',
    headers: 'header',
    proxy: 'all-proxy',
    digests: 'checksum',
    connections: 'split',
    dir: 'dir',
  };
  return option === undefined ? error : problem(names[option] as string);
}
