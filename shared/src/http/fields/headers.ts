/** Access to header fields in the form that Node and undici give them. */

import { MillraceError } from '../../base/errors.ts';

/** Field names in lower case; a field that occurred several times may be an array. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A list-valued field: its lines joined by commas (RFC 9110 5.3), or undefined. */
export function listField(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

/**
 * A field that may occur only once.
 *
 * @throws MillraceError `malformed-response` if it occurs with different values: no reading of
 *   such a message is safe
 */
export function singleField(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  if (typeof value === 'string' || value === undefined) return value;
  if (value.some((v) => v !== value[0])) {
    throw new MillraceError('malformed-response', `${name} occurs twice`);
  }
  return value[0];
}

/** Splits a comma-separated list, leaving commas inside quoted strings alone; items trimmed. */
export function splitList(value: string): string[] {
  const items: string[] = [];
  let item = '';
  let quoted = false;
  for (let i = 0; i < value.length; i++) {
    const char = value[i] as string;
    if (quoted && char === '\\') {
      item += char + (value[++i] ?? '');
      continue;
    }
    if (char === '"') quoted = !quoted;
    if (char === ',' && !quoted) {
      items.push(item.trim());
      item = '';
    } else {
      item += char;
    }
  }
  items.push(item.trim());
  return items.filter((i) => i !== '');
}
