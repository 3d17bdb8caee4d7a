/**
 * Interim answers of origins (RFC 9110 15.2) as an edge passes them on: that a request is worked on
 * (102), and early hints (103, RFC 8297).
 *
 * Links of hints are made absolute, because a relative one would lead from the edge's address to
 * elsewhere; only those that have a browser fetch or connect early remain.
 */

import { MAX_PASSED_FIELD_CHARS } from '../../base/limits.ts';
import type { Headers } from '../fields/headers.ts';
import { parseLinks } from '../urls/link.ts';
import { isFieldOfFile, passedFields } from './passed-fields.ts';

export interface InterimAnswer {
  readonly status: 102 | 103;
  /** Fields, names in lower case. */
  readonly fields: Record<string, string>;
}

/** Most interim answers that are passed on with one answer. */
const MAX_INTERIM = 8;
const MAX_LINKS = 32;

const RELATIONS: ReadonlySet<string> = new Set([
  ...['preload', 'modulepreload', 'preconnect', 'dns-prefetch'],
]);
/** Parameters of these relations, with their allowed values. */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  as: /^[a-z]{1,20}$/,
  type: /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/,
  crossorigin: /^(?:|anonymous|use-credentials)$/,
  fetchpriority: /^(?:high|low|auto)$/,
};

/**
 * Returns what is passed on of an interim answer; undefined: nothing. An upgrade (101) and a status
 * that is not known are nothing for clients.
 *
 * @param url that the answer came from
 */
export function passedInterim(
  status: number,
  headers: Headers,
  url: string,
): InterimAnswer | undefined {
  if (status === 102) return { status, fields: {} };
  if (status !== 103) return undefined;
  const passed = Object.entries(passedFields(headers, url, false));
  const fields = Object.fromEntries(passed.filter(([name]) => isFieldOfFile(name)));
  const link = hints(headers, url);
  if (link !== '') fields.link = link;
  return Object.keys(fields).length === 0 ? undefined : { status, fields };
}

/**
 * Makes a reader of interim answers that passes on those which clients may get, a few at most.
 *
 * @param url that they come from
 */
export function interimReader(
  url: string,
  pass: (answer: InterimAnswer) => void,
): (status: number, headers: Headers) => void {
  let left = MAX_INTERIM;
  return (status, headers) => {
    const passed = left > 0 ? passedInterim(status, headers, url) : undefined;
    if (passed === undefined) return;
    left--;
    pass(passed);
  };
}

function hints(headers: Headers, base: string): string {
  let field = '';
  let count = 0;
  for (const { target, rel, parameters } of parseLinks(headers)) {
    const relations = rel.filter((relation) => RELATIONS.has(relation));
    const href = absolute(target, base);
    if (relations.length === 0 || href === undefined) continue;
    let text = `<${href}>; rel="${relations.join(' ')}"`;
    for (const [name, allowed] of Object.entries(PARAMETERS)) {
      const value = parameters.get(name);
      if (value === undefined || !allowed.test(value)) continue;
      text += value === '' ? `; ${name}` : `; ${name}="${value}"`;
    }
    const longer = field === '' ? text : `${field}, ${text}`;
    if (longer.length > MAX_PASSED_FIELD_CHARS || ++count > MAX_LINKS) break;
    field = longer;
  }
  return field;
}

function absolute(target: string, base: string): string | undefined {
  try {
    const { href, protocol } = new URL(target, base);
    const isWeb = protocol === 'http:' || protocol === 'https:';
    return isWeb && target !== '' && /^[\x21-\x7e]+$/.test(href) ? href : undefined;
  } catch {
    return undefined; // not a URL
  }
}
