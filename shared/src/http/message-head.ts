/**
 * The head of an HTTP/1.1 response, read strictly (RFC 9112). Used where a whole HTTP library
 * would cost more than the transfer; what is not plain and unambiguous is refused, never guessed.
 */

import { MillraceError } from '../base/errors.ts';

export interface MessageHead {
  readonly status: number;
  /** Names in lower case; a field that occurs several times is an array. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** True when the connection may be used for another request afterwards. */
  readonly keepAlive: boolean;
  /** How the body is delimited. */
  readonly framing:
    | { readonly kind: 'none' }
    | { readonly kind: 'length'; readonly bytes: number }
    /** Chunked, or up to the end of the connection. */
    | { readonly kind: 'other' };
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/;

/**
 * @param text everything up to, not including, the empty line; Latin-1
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
    const value = field[2] as string;
    const before = headers[name];
    headers[name] =
      before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
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

function framing(
  status: number,
  headers: Record<string, string | string[]>,
): MessageHead['framing'] {
  const length = headers['content-length'];
  const encoding = headers['transfer-encoding'];
  // Two ways to find the end are how responses get smuggled (RFC 9112 6.3).
  if (length !== undefined && encoding !== undefined) return fail('two kinds of length');
  if (status < 200 || status === 204 || status === 304) return { kind: 'none' };
  if (encoding !== undefined || length === undefined) return { kind: 'other' };
  const values = [length].flat();
  const bytes = Number(values[0]);
  if (!/^\d{1,16}$/.test(values[0] as string) || !Number.isSafeInteger(bytes)) {
    return fail('Content-Length');
  }
  if (values.some((value) => value !== values[0])) return fail('two Content-Lengths');
  return { kind: 'length', bytes };
}

function fail(what: string): never {
  throw new MillraceError('malformed-response', `${what} cannot be read`);
}
