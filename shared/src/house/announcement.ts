/**
 * Writes and reads what an edge tells the machines on its link of itself, by DNS service discovery
 * (RFC 6763). Everything that is read comes from a stranger: it only says where to look.
 */

import { isPublicHost } from '../http/urls/public-host.ts';

/** Name of the service, to which `_` and the protocol are added (RFC 6763 7). */
export const SERVICE_NAME = 'millrace';
/** Domain name under which the edges of a link are listed. */
export const SERVICE_TYPE = '_millrace._tcp.local';

/** Longest value of a member of the TXT record, in characters: the record stays below 1,300 bytes. */
const MAX_VALUE_CHARS = 200;
/** Longest name to show, in characters. */
export const MAX_NAME_CHARS = 60;
const TXT_VERSION = '1';

export interface Announcement {
  readonly port: number;
  /** The edge's name in its network. */
  readonly name: string;
  /** Program version. */
  readonly version: string;
  /** URL with the host that the certificate names; undefined: the port takes no TLS. */
  readonly tlsUrl: string | undefined;
}

/** Returns the members of the TXT record (RFC 6763 6). Values that are too long are left out. */
export function txtOf({ name, version, tlsUrl }: Announcement): Record<string, string> {
  const members: [string, string][] = [
    ['txtvers', TXT_VERSION],
    ['v', version],
    ['path', '/'],
    ['tls', tlsUrl === undefined ? '0' : '1'],
    ['name', name],
    ...(tlsUrl === undefined ? [] : [['url', tlsUrl] as [string, string]]),
  ];
  return Object.fromEntries(members.filter(([, value]) => value.length <= MAX_VALUE_CHARS));
}

/** Where an announced edge says that it is reached, besides the address it announces from. */
export interface Announced {
  /** Host that its certificate must name; undefined: without TLS. */
  readonly tlsHost: string | undefined;
  /** Name to show; empty if it gives none. */
  readonly name: string;
}

/**
 * Reads a TXT record.
 *
 * @param strings its strings, `key=value`; the first one of a key counts (RFC 6763 6.4)
 * @returns undefined if it is of another version, or does not say how to reach the edge
 */
export function readTxt(strings: readonly string[]): Announced | undefined {
  const members = new Map<string, string>();
  for (const text of strings.slice(0, 32)) {
    const at = text.indexOf('=');
    const key = (at < 0 ? text : text.slice(0, at)).toLowerCase();
    if (at > 0 && text.length <= 255 && !members.has(key)) members.set(key, text.slice(at + 1));
  }
  if (members.get('txtvers') !== TXT_VERSION || (members.get('path') ?? '/') !== '/') {
    return undefined;
  }
  const name = shownName(members.get('name') ?? '');
  if (members.get('tls') !== '1') return { tlsHost: undefined, name };
  const text = members.get('url') ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // A certificate of a public authority has a public name.
  const isUsable = url?.protocol === 'https:' && /[a-z]/i.test(url.hostname);
  if (!isUsable || url.hostname.startsWith('[') || !isPublicHost(url.hostname)) return undefined;
  return { tlsHost: url.hostname, name };
}

/** Returns a stranger's name without anything that a terminal or a page would not show as it is. */
function shownName(text: string): string {
  const shown = text.replace(/[^\p{L}\p{N} ._:()-]/gu, '');
  return [...shown].slice(0, MAX_NAME_CHARS).join('');
}
