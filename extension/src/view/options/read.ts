/** Reads the texts that users type into the options, into settings or problems. */

import { readBytes } from '@millrace/shared/base/units';
import type { Settings } from '../../contract/settings.ts';
import type { Text } from '../../text/text.ts';

/** Value of a field to save, or its problem as a text for the user. */
export type Reading<T> =
  | { readonly value: T; readonly problem?: undefined }
  | { readonly problem: string };

/** Limits, as in settings.ts. */
const MAX_BYTES = 2 ** 40;
const MAX_RULES = 1000;
const MAX_TYPE_CHARS = 20;
const MAX_HOST_CHARS = 253;
const MAX_EDGES = 64;
const MAX_URL_CHARS = 2048;

const UNITS = ['', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Returns a size as it would be typed; `readSize` reads it as the same number of bytes. */
export function writeSize(bytes: number): string {
  let [rest, unit] = [bytes, 0];
  while (rest >= 1024 && rest % 1024 === 0 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit++;
  }
  return `${rest} ${UNITS[unit]}`.trim();
}

/** Reads a size, in bytes. @param typed such as `16 MiB` or, as in German, `1,5 GiB` */
export function readSize(text: Text, typed: string): Reading<number> {
  const bytes = readBytes(typed.replace(',', '.'));
  if (bytes === undefined) return { problem: text.t('taking.size.bad') };
  return bytes > MAX_BYTES ? { problem: text.t('taking.size.large') } : { value: bytes };
}

const words = (typed: string) => typed.split(/[\s,;]+/).filter((word) => word !== '');

/**
 * Reads file extensions, with or without `*.` or a dot before them.
 *
 * @param other the other list, whose types are refused
 */
export function readTypes(
  text: Text,
  typed: string,
  other: readonly string[],
): Reading<readonly string[]> {
  const types: string[] = [];
  for (const word of words(typed)) {
    const type = word.toLowerCase().replace(/^\*?\./, '');
    if (!/^[\p{L}\p{N}][\p{L}\p{N}.+_-]*$/u.test(type) || type.length > MAX_TYPE_CHARS) {
      return { problem: text.t('taking.types.bad', { type: word }) };
    }
    if (other.includes(type)) return { problem: text.t('taking.types.both', { type }) };
    if (!types.includes(type)) types.push(type);
  }
  if (types.length > MAX_RULES) return { problem: text.t('taking.types.many', { n: MAX_RULES }) };
  return { value: types };
}

/** Form of a host in URLs: international names in ASCII, IPv6 addresses in brackets. */
const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/;

/** Returns a host, also from a link or with `*.` before it; undefined if there is none. */
function readHost(word: string): string | undefined {
  const bare = word.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/^\*\./, '');
  try {
    const { hostname, username } = new URL(`http://${bare}`);
    const host = hostname.replace(/\.$/, '');
    const good = username === '' && HOST.test(host) && host.length <= MAX_HOST_CHARS;
    return good ? host : undefined;
  } catch {
    return undefined;
  }
}

/** Reads hosts. @param other hosts of the other list, which are refused */
export function readHosts(
  text: Text,
  typed: string,
  other: readonly string[] = [],
): Reading<readonly string[]> {
  const hosts: string[] = [];
  for (const word of words(typed)) {
    const host = readHost(word);
    if (host === undefined) return { problem: text.t('hosts.bad', { host: word }) };
    if (other.includes(host)) return { problem: text.t('hosts.both', { host }) };
    if (!hosts.includes(host)) hosts.push(host);
  }
  if (hosts.length > MAX_RULES) return { problem: text.t('hosts.many', { n: MAX_RULES }) };
  return { value: hosts };
}

/**
 * Reads the base URL of an edge, and removes slashes at its end.
 *
 * @param edges the existing edges
 */
export function readEdgeUrl(text: Text, typed: string, edges: Settings['edges']): Reading<string> {
  const trimmed = typed.trim();
  if (!/^https?:\/\/[^\s/]/i.test(trimmed) || trimmed.length > MAX_URL_CHARS) {
    return { problem: text.t('edges.url.bad') };
  }
  let url: URL;
  try {
    url = new URL(trimmed);
  } catch {
    return { problem: text.t('edges.url.bad') };
  }
  if (url.username !== '' || url.password !== '') {
    return { problem: text.t('edges.url.password') };
  }
  if (url.search !== '' || url.hash !== '') return { problem: text.t('edges.url.rest') };
  const value = url.href.replace(/\/+$/, '');
  if (edges.some((edge) => edge.url === value)) return { problem: text.t('edges.url.same') };
  if (edges.length >= MAX_EDGES) return { problem: text.t('edges.url.many', { n: MAX_EDGES }) };
  return { value };
}

/** Reads the hosts of an edge, at least one: without hosts, no file would go through the edge. */
export function readEdgeHosts(text: Text, typed: string): Reading<readonly string[]> {
  const reading = readHosts(text, typed);
  if (reading.problem === undefined && reading.value.length === 0) {
    return { problem: text.t('edges.hosts.none') };
  }
  return reading;
}
