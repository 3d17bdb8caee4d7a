/**
 * The table of aria2's options (aria2c(1), aria2 1.36): the values that each may have, and what
 * holds here. A download's options are shown as they are in force, not as a client has set them.
 */

import { aria2Error } from '../calls/rpc-error.ts';

export type Aria2Options = Readonly<Record<string, string>>;

type Kind = 'text' | 'flag' | 'number' | 'size' | RegExp;

/** Options that a download heeds, with allowed values and defaults. */
const HEEDED: Readonly<Record<string, readonly [Kind, string?]>> = {
  'all-proxy': ['text'],
  'all-proxy-passwd': ['text'],
  'all-proxy-user': ['text'],
  'allow-overwrite': ['flag', 'false'],
  'auto-file-renaming': ['flag', 'true'],
  checksum: [/^[a-z0-9-]+=[0-9a-f]+$/i],
  dir: ['text'],
  'follow-metalink': [/^(?:true|false|mem)$/, 'true'],
  'follow-torrent': [/^(?:true|false|mem)$/, 'true'],
  gid: [/^[0-9a-f]{16}$/i],
  header: ['text'],
  'http-no-cache': ['flag', 'false'],
  'http-passwd': ['text'],
  'http-proxy': ['text'],
  'http-user': ['text'],
  'https-proxy': ['text'],
  'max-connection-per-server': ['number'],
  'max-download-limit': ['size', '0'],
  'max-tries': ['number', '5'],
  out: ['text'],
  'parameterized-uri': ['flag', 'false'],
  pause: ['flag', 'false'],
  referer: ['text'],
  split: ['number'],
  timeout: ['number', '60'],
  'user-agent': ['text'],
};

/** Further options of the daemon. */
const GLOBAL: Readonly<Record<string, readonly [Kind, string?]>> = {
  'max-concurrent-downloads': ['number'],
  'max-overall-download-limit': ['size', '0'],
  'max-overall-upload-limit': ['size', '0'],
};

/**
 * Options of downloads by HTTP whose values are always these here. A client that sets another value
 * is told so by the download's log, and by `aria2.getOption`.
 */
const FIXED: Aria2Options = {
  'allow-piece-length-change': 'true',
  'always-resume': 'false',
  'async-dns': 'true',
  'check-integrity': 'false',
  'connect-timeout': '60',
  'content-disposition-default-utf8': 'true',
  continue: 'true',
  'enable-http-keep-alive': 'true',
  'enable-http-pipelining': 'false',
  'enable-mmap': 'false',
  'file-allocation': 'none',
  'force-save': 'true',
  'http-accept-gzip': 'false',
  'http-auth-challenge': 'false',
  'lowest-speed-limit': '0',
  'max-file-not-found': '0',
  'max-mmap-limit': '0',
  'max-resume-failure-tries': '0',
  'metalink-enable-unique-protocol': 'true',
  'metalink-preferred-protocol': 'none',
  'min-split-size': '20971520',
  'no-file-allocation-limit': '0',
  'no-netrc': 'true',
  'pause-metadata': 'false',
  'piece-length': '1048576',
  'proxy-method': 'get',
  'realtime-chunk-checksum': 'true',
  'remote-time': 'false',
  'remove-control-file': 'false',
  'retry-wait': '0',
  'reuse-uri': 'true',
  'rpc-save-upload-metadata': 'false',
  'save-not-found': 'true',
  'stream-piece-selector': 'default',
  'uri-selector': 'feedback',
  'use-head': 'false',
};

/** Options that say nothing of a download by HTTP, with aria2's defaults. */
const OTHER_PROTOCOLS: Aria2Options = {
  'bt-enable-hook-after-hash-check': 'true',
  'bt-enable-lpd': 'false',
  'bt-force-encryption': 'false',
  'bt-hash-check-seed': 'true',
  'bt-load-saved-metadata': 'false',
  'bt-max-peers': '55',
  'bt-metadata-only': 'false',
  'bt-min-crypto-level': 'plain',
  'bt-remove-unselected-file': 'false',
  'bt-request-peer-speed-limit': '51200',
  'bt-require-crypto': 'false',
  'bt-save-metadata': 'false',
  'bt-seed-unverified': 'false',
  'bt-stop-timeout': '0',
  'bt-tracker-connect-timeout': '60',
  'bt-tracker-interval': '0',
  'bt-tracker-timeout': '60',
  'enable-peer-exchange': 'true',
  'ftp-pasv': 'true',
  'ftp-reuse-connection': 'true',
  'ftp-type': 'binary',
  'max-upload-limit': '0',
  'seed-ratio': '1.0',
};

/**
 * Options with which aria2 downloads something else, or nothing. Every value but the one here, if
 * there is one, is refused: a client that is not told would get what it did not ask for.
 */
const REFUSED: Readonly<Record<string, string | undefined>> = {
  'conditional-get': 'false',
  'dry-run': 'false',
  'hash-check-only': 'false',
  'index-out': undefined,
  'load-cookies': '',
  'select-file': undefined,
};

const MAX_VALUE_CHARS = 16_384;

/**
 * Reads options as a client sends them: text, or lists of text. Leaves out options that aria2 does
 * not have, like aria2, and those that are not heeded.
 *
 * @throws RpcError in aria2's words for an invalid or refused value
 */
export function readOptions(given: unknown, global: boolean): Record<string, string> {
  const options: Record<string, string> = {};
  for (const [name, text] of textsOf(given)) {
    if (Object.hasOwn(REFUSED, name)) {
      if (text === REFUSED[name]) continue;
      throw problem(name, ' Millrace does not support it.');
    }
    const known = kindOf(name, global);
    if (known === undefined) continue;
    if (text.length > MAX_VALUE_CHARS || !fits(known, text)) throw problem(name);
    options[name] = text;
  }
  return options;
}

/** Names the options among the given ones that a download by HTTP would heed in aria2, not here. */
export function withoutEffect(given: unknown): string[] {
  return textsOf(given).flatMap(([name, text]) =>
    Object.hasOwn(FIXED, name) && FIXED[name] !== text ? [name] : [],
  );
}

/** Lists given options as text. @throws RpcError if they are not a struct */
function textsOf(given: unknown): [string, string][] {
  if (given === undefined) return [];
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw aria2Error('The parameter at 1 has wrong type.');
  }
  return Object.entries(given).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(String).join('\n') : String(value),
  ]);
}

/**
 * Returns the kind of an option; undefined for an unknown one, also if every object inherits a
 * member of that name.
 */
function kindOf(name: string, global: boolean): Kind | undefined {
  if (Object.hasOwn(HEEDED, name)) return HEEDED[name]?.[0];
  return global && Object.hasOwn(GLOBAL, name) ? GLOBAL[name]?.[0] : undefined;
}

/** Makes aria2's error for an option. */
export function problem(name: string, more = '') {
  return aria2Error(`We encountered a problem while processing the option '--${name}'.${more}`);
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

/** Returns options as they are in force: values that are always the same here take precedence. */
export const inForce = (options: Aria2Options): Aria2Options => ({ ...options, ...FIXED });

/** Returns the default options of a download, those with values that are always the same included. */
export function defaultOptions(): Record<string, string> {
  const rows = Object.entries(HEEDED).flatMap(([name, [, value]]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const harmless = Object.entries(REFUSED).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value] as const],
  );
  return { ...OTHER_PROTOCOLS, ...FIXED, ...Object.fromEntries([...harmless, ...rows]) };
}
