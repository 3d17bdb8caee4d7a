/** The Link field (RFC 8288). */

import { type Headers, listField } from '../fields/headers.ts';

/** Longest Link field that is read: a redirector with a hundred mirrors sends 10,000. */
const MAX_FIELD_CHARS = 64 * 1024;
const MAX_LINKS = 256;

export interface Link {
  /** As written: possibly relative. */
  readonly target: string;
  /** Relation types in lower case. */
  readonly rel: readonly string[];
  /** By name in lower case, the first of a name; without a value: empty. */
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * The links of a message, in order, at most 256. A malformed link is left out, and the others are
 * still read; a field of more than 64 KiB is ignored.
 */
export function parseLinks(headers: Headers): Link[] {
  const field = listField(headers, 'link') ?? '';
  if (field.length > MAX_FIELD_CHARS) return [];
  const links: Link[] = [];
  for (let at = 0; at < field.length && links.length < MAX_LINKS; at++) {
    if (field[at] !== '<') {
      // Space between the links, or other text: the next link begins after the next comma.
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

/** Where the next `stop` stands outside of quotes, from `at` on; the end if it does not. */
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
    // Of several, the first counts (RFC 8288, 3.3 and 3.4).
    if (TOKEN.test(name) && value !== undefined && !parameters.has(name)) {
      parameters.set(name, value);
    }
    at = end;
  }
  return parameters;
}

/** Reads `name`, `name=token` or `name="quoted"`; an undefined value if it is none of them. */
function readParameter(text: string): [name: string, value: string | undefined] {
  const equals = text.indexOf('=');
  if (equals === -1) return [text.trim().toLowerCase(), ''];
  const name = text.slice(0, equals).trim().toLowerCase();
  const value = text.slice(equals + 1).trim();
  if (!value.includes('"')) return [name, value];
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1];
  return [name, quoted?.replace(/\\(.)/g, '$1')];
}
