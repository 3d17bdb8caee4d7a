/** Checks header fields that a user gives, and refuses those that only Millrace may set. */

import { MillraceError } from '../../base/errors.ts';

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/**
 * A field value (RFC 9110 5.5): no control characters, above all no line break, which would begin
 * another field.
 */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const MAX_FIELDS = 100;
const MAX_NAME_CHARS = 256;
const MAX_VALUE_CHARS = 16 * 1024;

/** Fields that control message framing, the range contract or the proxy. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Checks fields and returns them with names in lower case.
 *
 * @throws MillraceError `bad-option`, which names the field but does not show its value
 */
export function userFields(fields: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(fields);
  if (entries.length > MAX_FIELDS)
    throw new MillraceError('bad-option', { code: 'too-many-fields' });
  const checked: Record<string, string> = {};
  for (const [name, value] of entries) {
    if (name.length > MAX_NAME_CHARS || !TOKEN.test(name)) {
      throw new MillraceError('bad-option', { code: 'field-name' });
    }
    const lower = name.toLowerCase();
    if (RESERVED.has(lower)) {
      throw new MillraceError('bad-option', { code: 'field-reserved', values: { name: lower } });
    }
    if (lower in checked)
      throw new MillraceError('bad-option', { code: 'field-twice', values: { name: lower } });
    checked[lower] = fieldValue(lower, value);
  }
  return checked;
}

/**
 * Checks a value and returns it without the blanks around it.
 *
 * @throws MillraceError `bad-option`
 */
export function fieldValue(name: string, value: string): string {
  if (value.length > MAX_VALUE_CHARS || !VALUE.test(value)) {
    throw new MillraceError('bad-option', { code: 'field-value', values: { name } });
  }
  return value.replace(/^[\t ]+|[\t ]+$/g, '');
}
