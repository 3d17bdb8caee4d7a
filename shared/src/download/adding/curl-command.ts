/**
 * Reads `curl …` command lines, as browsers' "Copy as cURL" writes them, as requests for downloads.
 * The options are those of curl(1). Those that change only what curl prints, or how often it tries,
 * are passed over. What a download cannot do, or not safely, is refused with the reason.
 */

import type { TextFaultCode } from '../../base/error-table/text-faults.ts';
import { readRate } from '../../base/units.ts';
import { TextFault } from '../request/text-fault.ts';
import { expandPattern } from '../request/url-pattern.ts';
import { shellCommands } from './shell-words.ts';

/** One download of a command. Names of fields are in lower case. */
export interface CurlDownload {
  readonly url: string;
  /** Name only: where files go is for the user to say, and not for a command that was copied. */
  readonly file?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly login?: { readonly user: string; readonly password: string };
  readonly proxy?: string;
  /** Bytes per second. */
  readonly limit?: number;
}

/** Options without a value that change nothing of a download. */
const PASSED = new Set(
  ['compressed', 'location', 'remote-header-name', 'silent', 'show-error', 'fail', 'fail-early']
    .concat(['progress-bar', 'no-progress-meter', 'verbose', 'globoff', 'create-dirs', 'parallel'])
    .concat(['http1.0', 'http1.1', 'http2', 'http2-prior-knowledge', 'http3', 'ipv4', 'ipv6'])
    .concat(['tcp-nodelay', 'no-buffer', 'no-keepalive', 'remote-time', 'retry-connrefused', 'get'])
    .concat(['retry-all-errors', 'remote-name', 'remote-name-all', 'path-as-is', 'fail-with-body'])
    .concat(['no-clobber', 'disable', 'tlsv1.2', 'tlsv1.3', 'xattr', 'styled-output']),
);
/** Options with a value that change nothing of a download. */
const PASSED_VALUES = new Set(
  ['retry', 'retry-delay', 'retry-max-time', 'max-time', 'connect-timeout', 'speed-limit']
    .concat(['speed-time', 'max-redirs', 'keepalive-time', 'write-out', 'parallel-max', 'stderr'])
    .concat([
      'output-dir',
      'continue-at',
      'max-filesize',
      'happy-eyeballs-timeout-ms',
      'tls-max',
      'noproxy',
    ]),
);
/** Options with a value that are taken. */
const TAKEN = new Set(
  ['header', 'cookie', 'user-agent', 'referer', 'user', 'output', 'proxy', 'url'].concat([
    'limit-rate',
    'request',
    'oauth2-bearer',
  ]),
);
/** Options that are refused, by the reason. */
const REFUSED: Readonly<Record<string, TextFaultCode>> = {
  data: 'option-sends',
  'data-raw': 'option-sends',
  'data-binary': 'option-sends',
  'data-urlencode': 'option-sends',
  'data-ascii': 'option-sends',
  json: 'option-sends',
  form: 'option-sends',
  'form-string': 'option-sends',
  'upload-file': 'option-sends',
  head: 'option-head',
  include: 'option-include',
  range: 'option-range',
  insecure: 'option-insecure',
  config: 'option-config',
  next: 'option-next',
};
const SHORT: Readonly<Record<string, string>> = {
  ...{ H: 'header', b: 'cookie', A: 'user-agent', e: 'referer', u: 'user', o: 'output' },
  ...{ O: 'remote-name', J: 'remote-header-name', L: 'location', s: 'silent', S: 'show-error' },
  ...{ f: 'fail', '#': 'progress-bar', v: 'verbose', g: 'globoff', x: 'proxy', X: 'request' },
  ...{ d: 'data', F: 'form', T: 'upload-file', I: 'head', i: 'include', r: 'range', K: 'config' },
  ...{ k: 'insecure', G: 'get', Z: 'parallel', C: 'continue-at', m: 'max-time', w: 'write-out' },
  ...{ '4': 'ipv4', '6': 'ipv6', '0': 'http1.0', N: 'no-buffer', R: 'remote-time', q: 'disable' },
  ...{ Y: 'speed-limit', y: 'speed-time', ':': 'next' },
};
/** Fields of one request of a browser or of its connection, which each request of a download sets anew. */
const OWN_TO_REQUEST =
  /^(?:accept-encoding|connection|content-length|expect|host|if-.+|keep-alive|priority|proxy-connection|range|te|trailer|transfer-encoding|upgrade)$/;
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const CURL = /^\s*(?:\$\s+)?curl(?:\.exe)?\s/i;

/** Returns true for a text that begins with a command of curl. */
export function isCurlText(text: string): boolean {
  return CURL.test(text);
}

/**
 * Reads the commands of a text.
 *
 * @param most most downloads that they may stand for
 * @throws TextFault with the option and the reason; no value of a field or log-in
 */
export function curlDownloads(text: string, most: number): CurlDownload[] {
  const found: CurlDownload[] = [];
  for (const words of shellCommands(text.replace(/^\s*\$\s+/, ''))) {
    found.push(...new CurlReader(words).read(most));
    if (found.length > most) throw new TextFault('too-many-downloads', { n: most });
  }
  return found;
}

/** One command, read word by word. */
class CurlReader {
  readonly #words: readonly string[];
  readonly #urls: string[] = [];
  readonly #headers: Record<string, string> = {};
  readonly #cookies: string[] = [];
  readonly #outputs: string[] = [];
  readonly #more: { -readonly [K in 'login' | 'proxy' | 'limit']?: CurlDownload[K] } = {};
  #globs = true;
  #at = 1;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  read(most: number): CurlDownload[] {
    const [program = ''] = this.#words;
    if (!/^curl(?:\.exe)?$/i.test(program)) throw new TextFault('not-curl', { program });
    for (let word = this.#words[this.#at++]; word !== undefined; word = this.#words[this.#at++]) {
      if (word.startsWith('--') && word.length > 2) this.#option(word.slice(2), word);
      else if (word.startsWith('-') && word.length > 1) this.#cluster(word.slice(1));
      else this.#urls.push(word);
    }
    return this.#downloads(most);
  }

  /** Reads short options that are written together, such as `-sLo name`. */
  #cluster(letters: string): void {
    for (let i = 0; i < letters.length; i++) {
      const letter = letters[i] as string;
      const name = SHORT[letter] ?? '';
      const rest = letters.slice(i + 1);
      const takesValue = TAKEN.has(name) || PASSED_VALUES.has(name);
      this.#option(name, `-${letter}`, takesValue && rest !== '' ? rest : undefined);
      if (takesValue) return;
    }
  }

  #option(name: string, typed: string, joined?: string): void {
    const reason = REFUSED[name];
    if (reason !== undefined) throw new TextFault(reason, { option: typed });
    if (name === 'globoff') this.#globs = false;
    if (PASSED.has(name) || PASSED.has(name.replace(/^no-/, ''))) return;
    if (!TAKEN.has(name) && !PASSED_VALUES.has(name)) {
      throw new TextFault('option-unknown', { option: typed });
    }
    const value = joined ?? this.#words[this.#at++];
    if (value === undefined) throw new TextFault('option-without-value', { option: typed });
    if (TAKEN.has(name)) this.#take(name, typed, value);
  }

  #take(name: string, typed: string, value: string): void {
    switch (name) {
      case 'url':
        this.#urls.push(value);
        return;
      case 'header':
        this.#field(typed, value);
        return;
      case 'cookie':
        if (value.includes('=')) this.#cookies.push(value);
        else if (value !== '') throw new TextFault('option-cookie-file', { option: typed });
        return;
      case 'user-agent':
        if (value !== '') this.#headers['user-agent'] = value;
        return;
      case 'referer':
        if (value.replace(/;auto$/, '') !== '') this.#headers.referer = value.replace(/;auto$/, '');
        return;
      case 'oauth2-bearer':
        this.#headers.authorization = `Bearer ${value}`;
        return;
      case 'output':
        if (value === '-') throw new TextFault('option-prints', { option: typed });
        this.#outputs.push(value);
        return;
      case 'proxy':
        this.#more.proxy = value.includes('://') ? value : `http://${value}`;
        return;
      case 'limit-rate':
        this.#more.limit = rateOf(typed, value);
        return;
      case 'user':
        this.#more.login = loginOf(typed, value);
        return;
      default:
        if (value.toUpperCase() === 'GET') return;
        throw new TextFault('option-method', { option: typed, method: value.slice(0, 20) });
    }
  }

  #field(typed: string, line: string): void {
    if (line.startsWith('@')) throw new TextFault('option-field-file', { option: typed });
    const match = /^([^:;]+)([:;])([\s\S]*)$/.exec(line);
    const name = match?.[1]?.trim().toLowerCase() ?? '';
    const value = match?.[3]?.trim() ?? '';
    if (!FIELD_NAME.test(name)) throw new TextFault('option-not-field', { option: typed });
    // A name without a value takes a field of curl's own away. HTTP/2 has fields such as ":path".
    if (OWN_TO_REQUEST.test(name) || (match?.[2] === ':' && value === '')) return;
    if (name === 'cookie') this.#cookies.push(value);
    else this.#headers[name] = value;
  }

  #downloads(most: number): CurlDownload[] {
    const urls = this.#urls.flatMap((url) =>
      this.#globs ? expandPattern(withScheme(url), most) : [withScheme(url)],
    );
    if (urls.length === 0) throw new TextFault('no-url');
    for (const url of urls) {
      if (!URL.canParse(url)) throw new TextFault('bad-url');
      const { protocol } = new URL(url);
      if (!/^https?:$/.test(protocol)) {
        throw new TextFault('other-scheme', { scheme: protocol });
      }
    }
    if (this.#outputs.length > 0 && (urls.length > 1 || this.#outputs.length > 1)) {
      if (urls.length !== this.#outputs.length || this.#urls.length !== urls.length) {
        throw new TextFault('names-not-each');
      }
    }
    const headers = { ...this.#headers };
    if (this.#cookies.length > 0) headers.cookie = this.#cookies.join('; ');
    const shared = Object.keys(headers).length === 0 ? this.#more : { ...this.#more, headers };
    return urls.map((url, i) => ({ url, ...shared, ...nameOf(this.#outputs[i]) }));
  }
}

function nameOf(output: string | undefined): { file?: string } {
  const name = output?.split(/[/\\]/).at(-1) ?? '';
  return name === '' || name === '.' || name === '..' ? {} : { file: name };
}

/** A URL without a scheme has http, as curl assumes. */
function withScheme(url: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `http://${url}`;
}

function rateOf(typed: string, value: string): number {
  const rate = readRate(value);
  if (rate === undefined || rate < 1) throw new TextFault('option-not-rate', { option: typed });
  return rate;
}

function loginOf(typed: string, value: string): { user: string; password: string } {
  const colon = value.indexOf(':');
  if (colon === -1) throw new TextFault('option-no-password', { option: typed });
  return { user: value.slice(0, colon), password: value.slice(colon + 1) };
}
