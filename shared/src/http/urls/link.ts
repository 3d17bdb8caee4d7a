/** The Link field (RFC 8288). */

import { type Headers, listField } from '../fields/headers.ts';

/** Longest Link field that is read, in characters; a hundred mirrors take 10,000. */
const MAX_FIELD_CHARS = 64 * 1024;
const MAX_LINKS = 256;

export interface Link {
  /** URL as written, possibly relative. */
  readonly target: string;
  /** Relation types in lower case. */
  readonly rel: readonly string[];
  /** The first parameter of each name, by name in lower case; empty without a value. */
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Reads the links of a message, in order, at most 256. A malformed link is skipped, and the others
 * are still read; a field of more than 64 KiB is ignored.
 */
export function parseLinks(headers: Headers): Link[] {
  const field = listField(headers, 'link') ?? '';
  if (field.length > MAX_FIELD_CHARS) return [];
  const links: Link[] = [];
  for (let at = 0; at < field.length && links.length < MAX_LINKS; at++) {
    if (field[at] !== '<') {
      // After other text than space, the next link begins after the next comma.
      if (!/[\s,]/.test(field[at] as string)) at = endOf(field, at, ',');
      continue;
    }
    const close = field.indexOf('>', at);
    if (close === -1) break;
    const end = endOf(field, close + 1, ',');
    const parameters = readParameters(field.slice(close + 1, end));
    const rel = (parameters.get('rel') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    links.push({ target: field.slice(at + 1, close).trim(), rel, parameters });
    at = end;
  }
  return links;
}

/** Finds the next `stop` outside quotes, from `at` on; the end of the text if there is none. */
function endOf(text: string, at: number, stop: string): number {
  let quoted = false;
  for (let i = at; i < text.length; i++) {
    const char = text[i];
    if (quoted && char === '\\') i++;
    else if (char === '"') quoted = !quoted;
    else if (char === stop && !quoted) return i;
  }
  return text.length;
}

function readParameters(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (let at = 0; at < text.length; at++) {
    const end = endOf(text, at, ';');
    const [name, value] = readParameter(text.slice(at, end));
    // The first parameter of a name counts (RFC 8288, 3.3 and 3.4).
    if (TOKEN.test(name) && value !== undefined && !parameters.has(name)) {
      parameters.set(name, value);
    }
    at = end;
  }
  return parameters;
}

/** Reads `name`, `name=token` or `name="quoted"`; the value is undefined for any other form. */
function readParameter(text: string): [name: string, value: string | undefined] {
  const equals = text.indexOf('=');
  if (equals === -1) return [text.trim().toLowerCase(), ''];
  const name = text.slice(0, equals).trim().toLowerCase();
  const value = text.slice(equals + 1).trim();
  if (!value.includes('"')) return [name, value];
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1];
  return [name, quoted?.replace(/\\(.)/g, '$1')];
}
