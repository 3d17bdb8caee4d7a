/** The settings by which clients that know nothing reach a near edge: its zone in the DNS, anycast. */

import { MillraceError } from '@millrace/shared/base/errors';
import { parseDuration } from '@millrace/shared/base/unit-options';
import { MAX_NAMED } from '@millrace/shared/cdn/zone/named-edges';
import { MAX_EDGE_TTL_S, type NameServer } from '@millrace/shared/cdn/zone/zone';
import { parseName } from '@millrace/shared/cdn/zone/zone-name';
import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { count, type Setting, text } from './readers.ts';

/** Reads an IP address. @throws MillraceError `bad-option` */
function parseAddress(value: string): string {
  if (ipaddr.isValid(value) && value.includes('.') !== value.includes(':')) {
    return ipaddr.process(value).toString();
  }
  throw new MillraceError('bad-option', `"${value}" is not an address such as 192.0.2.1`);
}

/** Reads `NAME` or `NAME=ADDRESS`. @throws MillraceError `bad-option` */
function parseNameServer(value: string): NameServer {
  const [name = '', ...addresses] = value.split('=');
  return { name: parseName(name), addresses: addresses.map(parseAddress) };
}

/** Reads a network to announce, by default one address. @throws MillraceError `bad-option` */
function parseRoute(value: string): string {
  const [address = '', bits, ...more] = value.split('/');
  const network = parseAddress(address);
  const ip = ipaddr.process(network);
  const most = ip.kind() === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  const first = length < 0 || length > most ? undefined : firstOf(network, length);
  if (more.length === 0 && first === network && length > 0) return `${network}/${length}`;
  throw new MillraceError('bad-option', `"${value}" is not a network such as 192.0.2.0/24`);
}

/** Returns the first address of a network. */
function firstOf(address: string, bits: number): string {
  const network = `${address}/${bits}`;
  const isV4 = ipaddr.process(address).kind() === 'ipv4';
  const first = isV4
    ? ipaddr.IPv4.networkAddressFromCIDR(network)
    : ipaddr.IPv6.networkAddressFromCIDR(network);
  return first.toString();
}

const port = count.max(65535, 'must be at most 65535');

export const REACH_SETTINGS = {
  'public-address': {
    argument: '<address>',
    help: 'IP address at which clients reach this node, told to nodes with --dns-zone; by default those of the host in --public-url',
    schema: z.array(text(parseAddress)).max(8, 'must be at most 8 addresses'),
    default: undefined,
    repeatable: true,
  },
  'dns-zone': {
    argument: '<name>',
    help: 'domain whose names, itself and all below, this node answers for with the addresses of near edges; the domain above must delegate it to the --dns-server names; none by default',
    schema: text(parseName),
    default: undefined,
  },
  'dns-server': {
    argument: '<name>',
    help: 'name of a server of --dns-zone, the same list on all of them; NAME=ADDRESS if the name is in the zone',
    schema: z.array(text(parseNameServer)).min(1).max(13, 'must be at most 13'),
    default: undefined,
    repeatable: true,
  },
  'dns-host': {
    argument: '<address>',
    help: 'address to listen on for --dns-zone; --host by default; on a machine with several addresses name each, because answers must come from the address that was asked',
    schema: z.array(text(parseAddress)),
    default: undefined,
    repeatable: true,
  },
  'dns-port': {
    argument: '<number>',
    help: 'port for --dns-zone, UDP and TCP; resolvers ask at 53; 0 takes a free one',
    schema: port,
    default: '53',
  },
  'dns-ttl': {
    argument: '<time>',
    help: 'time for which resolvers may keep the addresses of edges, 1s to 30s',
    schema: text((value) => {
      const seconds = parseDuration(value) / 1000;
      if (Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_EDGE_TTL_S) return seconds;
      throw new MillraceError('bad-option', `must be whole seconds from 1s to ${MAX_EDGE_TTL_S}s`);
    }),
    default: '20s',
  },
  'dns-edges': {
    argument: '<number>',
    help: 'edges that an answer names, nearest first; clients try the next one when one does not answer',
    schema: count.min(1, 'must be at least 1').max(MAX_NAMED, `must be at most ${MAX_NAMED}`),
    default: '2',
  },
  'dns-rate': {
    argument: '<number>',
    help: 'answers per second by UDP to one network (/24, /56) that has shown no cookie; above it, answers are truncated or left out; 0 for no limit',
    schema: count,
    default: '100',
  },
  'dns-acme': {
    argument: '<name>',
    help: 'name that _acme-challenge of --dns-zone points to, for certificates that take a DNS record',
    schema: text(parseName),
    default: undefined,
  },
  'anycast-route': {
    argument: '<network>',
    help: 'anycast address or network that --anycast-file announces while this edge is healthy',
    schema: z.array(text(parseRoute)).min(1),
    default: undefined,
    repeatable: true,
  },
  'anycast-file': {
    argument: '<file>',
    help: 'file for a routing daemon, which announces the --anycast-route networks while this edge is healthy; none by default',
    schema: z.string().min(1),
    default: undefined,
  },
  'anycast-format': {
    argument: '<format>',
    help: 'format of --anycast-file: bird (for an include of BIRD 2) or exabgp (lines of its text API; the file may be a named pipe)',
    schema: z.enum(['bird', 'exabgp'], 'must be bird or exabgp'),
    default: 'bird',
  },
  'anycast-command': {
    argument: '<command>',
    help: 'command line to run after each change of --anycast-file, such as "birdc configure"',
    schema: z.string().min(1),
    default: undefined,
  },
  'anycast-rise': {
    argument: '<time>',
    help: 'time for which the edge must be healthy before it is announced',
    schema: text(parseDuration),
    default: '10s',
  },
  'anycast-hold': {
    argument: '<time>',
    help: 'shortest time between a withdrawal because of bad health and the next announcement',
    schema: text(parseDuration),
    default: '30s',
  },
  announce: {
    argument: '<whether>',
    help: 'yes to announce this edge on the local network by DNS service discovery (multicast DNS, UDP port 5353), so that programs there that look for edges find it, or no',
    schema: z.enum(['yes', 'no'], 'must be yes or no'),
    default: 'no',
  },
  'leave-time': {
    argument: '<time>',
    help: 'time for which the edge still serves everybody after SIGTERM or POST /-/drain, while /-/ready says 503, its routes are withdrawn, and no node names it any more; only then it drains; by default 2s with --anycast-file, else 0s',
    schema: text(parseDuration),
    default: undefined,
  },
} as const satisfies Record<string, Setting>;
