/**
 * Reads the `no_proxy` variable, which lists hosts to fetch directly, and recognises the names of
 * this machine.
 */

import { BlockList, isIP } from 'node:net';
import { fitsWildcards } from '@millrace/shared/text/wildcards';

/** Contents of a `no_proxy` variable. */
export interface NoProxy {
  /**
   * Returns true for a host that is fetched directly.
   *
   * @param host in lower case, IPv6 without brackets
   */
  matches(host: string, port: number): boolean;
  /** True if `<-loopback>` was given: even this machine is reached through the proxy. */
  readonly loopbackProxied: boolean;
}

/** Longest value to read, in characters, and most entries: the rest is ignored. */
const MAX_CHARS = 64 * 1024;
const MAX_ENTRIES = 1000;

type Rule = (host: string, port: number) => boolean;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Returns true for this machine itself (RFC 6761 6.3; RFC 1122 3.2.1.3; RFC 4291 2.5.3). */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family !== 0) return LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
  return host === 'localhost' || host.endsWith('.localhost');
}

/**
 * Reads `no_proxy`: entries between commas or blanks. An entry is `*`, a domain with its subdomains
 * (a leading `.` changes nothing, `*.` leaves the domain itself out), an address, or a network such
 * as 10.0.0.0/8; any but a network may be followed by a port. As the settings of Windows and macOS
 * have them, there are also `<local>`, names without a dot, and `*` anywhere in a name or address.
 * Other entries match nothing.
 */
export function parseNoProxy(text: string): NoProxy {
  const entries = text
    .slice(0, MAX_CHARS)
    .toLowerCase()
    .split(/[\s,]+/)
    .slice(0, MAX_ENTRIES);
  const rules = entries.filter((entry) => entry !== '').map(ruleOf);
  return {
    matches: (host, port) => rules.some((rule) => rule(host, port)),
    loopbackProxied: entries.includes('<-loopback>'),
  };
}

function ruleOf(entry: string): Rule {
  const network = /^\[?([0-9a-f.:]+)\]?\/(\d{1,3})$/.exec(entry);
  if (network) return networkRule(network[1] as string, Number(network[2]));
  const { host, port } = splitPort(entry);
  const byHost = hostRule(host);
  return port === undefined ? byHost : (name, at) => at === port && byHost(name, at);
}

/** Splits off the port. An IPv6 address contains colons: with a port, it stands in brackets. */
function splitPort(entry: string): { host: string; port: number | undefined } {
  const bracketed = /^\[(.*)\](?::(\d+))?$/.exec(entry);
  const plain = /^([^:]*):(\d+)$/.exec(entry);
  const [, host = entry, port] = bracketed ?? plain ?? [];
  return { host, port: port === undefined ? undefined : Number(port) };
}

function hostRule(text: string): Rule {
  if (text === '*') return () => true;
  if (text === '<local>') return (host) => !host.includes('.') && isIP(host) === 0;
  if (text.indexOf('*', 1) > 0 || /^\*[^.]/.test(text)) return (host) => fitsWildcards(host, text);
  const family = isIP(text);
  if (family !== 0) return networkRule(text, family === 4 ? 32 : 128);
  const domain = text.replace(/^\*?\./, '').replace(/\.$/, '');
  if (domain === '') return () => false;
  const within = `.${domain}`;
  const itself = !text.startsWith('*.');
  return (host) => host.endsWith(within) || (itself && host === domain);
}

function networkRule(address: string, bits: number): Rule {
  const family = isIP(address);
  if (family === 0 || bits > (family === 4 ? 32 : 128)) return () => false;
  const list = new BlockList();
  list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  return (host) => {
    const kind = isIP(host);
    return kind !== 0 && list.check(host, kind === 4 ? 'ipv4' : 'ipv6');
  };
}
