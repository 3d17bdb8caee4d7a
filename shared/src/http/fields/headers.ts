/** Reads header fields in the form in which Node and undici give them. */

import { MillraceError } from '../../base/errors.ts';

/** Field names in lower case; a field that occurred several times may be an array. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns a list-valued field, its lines joined by commas (RFC 9110 5.3); undefined if absent. */
export function listField(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

/**
 * Returns a field that may occur only once.
 *
 * @throws MillraceError `malformed-response` if the field occurs with different values, because no
 *   reading of such a message is safe
 */
export function singleField(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  if (typeof value === 'string' || value === undefined) return value;
  if (value.some((v) => v !== value[0])) {
    throw new MillraceError('malformed-response', `${name} occurs twice`);
  }
  return value[0];
}

/** Splits a list at commas outside quoted strings; trims its items and drops empty ones. */
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
