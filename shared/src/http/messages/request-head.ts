/** Heads of GET requests (RFC 9112). */

import { MillraceError } from '../../base/errors.ts';
import { requestTarget } from '../urls/prefixed-url.ts';

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>;

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Fields that announce a body, which a GET has not, or another protocol. */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...['content-length', 'expect', 'keep-alive', 'transfer-encoding', 'upgrade'],
]);

/**
 * Writes the head of a GET, empty line included.
 *
 * @param headers a Host replaces that of the URL
 * @param isWhole true to name the whole URL, for a proxy that forwards the request (RFC 9112 3.2.2)
 * @throws MillraceError `bad-option` for a field that a GET cannot have, or that cannot be written
 */
export function requestHead(url: URL, headers: Fields, isWhole: boolean): string {
  const fields = Object.entries(headers);
  const isHost = ([name]: [string, string]) => name.toLowerCase() === 'host';
  let head = `GET ${isWhole ? url.origin : ''}${requestTarget(url)} HTTP/1.1\r\n`;
  if (!fields.some(isHost)) head += `Host: ${url.host}\r\n`;
  for (const [name, value] of fields) {
    const isSent = !NOT_SENT.has(name.toLowerCase());
    if (!isSent || !FIELD_NAME.test(name) || !FIELD_VALUE.test(value))
      throw new MillraceError('bad-option', `header field ${name}`);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}
