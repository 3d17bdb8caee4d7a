/**
 * Reads the head of an HTTP/1.1 response strictly (RFC 9112), for callers for which a whole HTTP
 * library would cost more than the transfer. Ambiguous input is refused instead of guessed at.
 */

import { MillraceError } from '../../base/errors.ts';

export interface MessageHead {
  readonly status: number;
  /** Fields by name in lower case; a field that occurs several times is an array. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** True if the connection may be used for another request afterwards. */
  readonly keepAlive: boolean;
  /** The way in which the body is delimited. */
  readonly framing:
    | { readonly kind: 'none' }
    | { readonly kind: 'length'; readonly bytes: number }
    /** Chunked, or delimited by the end of the connection. */
    | { readonly kind: 'other' };
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/**
 * Returns true for a field line that may stand in the trailer of a chunked body (RFC 9112 7.1.2).
 * A field that delimits the body may not (RFC 9110 6.5.1).
 */
export function isTrailerField(line: string): boolean {
  return FIELD.test(line) && !/^(?:content-length|transfer-encoding):/i.test(line);
}

/**
 * Reads a message head.
 *
 * @param text everything before the empty line, as Latin-1
 * @throws MillraceError `malformed-response`
 */
export function parseMessageHead(text: string): MessageHead {
  const lines = text.split('\r\n');
  const statusLine = STATUS_LINE.exec(lines[0] as string);
  if (!statusLine) return fail('the status line');
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let i = 1; i < lines.length; i++) {
    const field = FIELD.exec(lines[i] as string);
    if (!field) return fail(`header line ${i}`);
    const name = (field[1] as string).toLowerCase();
    const value = withoutOuterSpace(field[2] as string);
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else headers[name] = [before, value];
  }
  const status = Number(statusLine[2]);
  const connection = [headers.connection ?? ''].flat().join(',').toLowerCase();
  const close = /(?:^|,)\s*close\s*(?:,|$)/.test(connection);
  return {
    status,
    headers,
    keepAlive: statusLine[1] === '1' && !close,
    framing: framing(status, headers),
  };
}

/**
 * Strips spaces and tabs from both ends (RFC 9110 5.5). A regular expression for the end would
 * search from every inner space to the next other character, which takes quadratic time.
 */
function withoutOuterSpace(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isSpace(text.charCodeAt(from))) from++;
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function framing(
  status: number,
  headers: Record<string, string | string[]>,
): MessageHead['framing'] {
  const length = headers['content-length'];
  const encoding = headers['transfer-encoding'];
  // Two ways to find the end would allow response smuggling (RFC 9112 6.3).
  if (length !== undefined && encoding !== undefined) return fail('two kinds of length');
  // Refuse a malformed length even without a body: another recipient may expect a body.
  const bytes = length === undefined ? undefined : contentLength([length].flat());
  if (status < 200 || status === 204 || status === 304) return { kind: 'none' };
  return bytes === undefined ? { kind: 'other' } : { kind: 'length', bytes };
}

function contentLength(values: readonly string[]): number {
  const text = values[0] as string;
  const bytes = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(bytes)) return fail('Content-Length');
  if (values.some((value) => value !== text)) return fail('two Content-Lengths');
  return bytes;
}

function fail(what: string): never {
  throw new MillraceError('malformed-response', `${what} cannot be read`);
}
