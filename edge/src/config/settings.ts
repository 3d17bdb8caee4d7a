/** The edge's settings: their meaning, the way they are read, and their defaults. */

import { MillraceError } from '@millrace/shared/base/errors';
import { DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { parseBytes, parseDuration, parseRate } from '@millrace/shared/base/unit-options';
import { formatBytes } from '@millrace/shared/base/units';
import { isLegalChunkSize } from '@millrace/shared/cdn/chunks/chunk-plan';
import { MAX_HOPS } from '@millrace/shared/cdn/routing/route';
import { readLinkSecrets } from '@millrace/shared/node/link-signature';
import * as z from 'zod';
import { AllowList } from '../policy/allow-list.ts';
import { parseNetwork } from '../policy/client-address.ts';
import { OriginKeys } from '../policy/origin-keys.ts';
import { OriginRules } from '../policy/origin-rules.ts';
import { PRESET_NAMES } from '../policy/presets.ts';
import { ACME_SETTINGS } from './acme-settings.ts';
import { DEPOT_SETTINGS } from './depot-settings.ts';
import { REACH_SETTINGS } from './reach-settings.ts';
import { count, parseBaseUrl, readSecret, type Setting, text, usable } from './readers.ts';
import { parseSeed } from './seeds.ts';

/** Least memory besides the cache: with less, a process would refuse transfers from the start. */
export const LEAST_ROOM_BYTES = 256 * 1024 * 1024;

export const SETTINGS = {
  host: {
    argument: '<address>',
    help: 'address to listen on',
    schema: z.string().min(1),
    default: '127.0.0.1',
  },
  port: {
    argument: '<number>',
    help: 'port to listen on; 0 takes a free one',
    schema: count.max(65535, 'must be at most 65535'),
    default: '3125',
  },
  'tls-cert': {
    argument: '<file>',
    help: 'certificate with its chain, PEM; --port then takes TLS only, with HTTP/2 and HTTP/1.1; the edge reads the file again when it changes, and on SIGHUP',
    schema: z.string().min(1),
    default: undefined,
  },
  'tls-key': {
    argument: '<file>',
    help: 'private key of the certificate, PEM, without passphrase',
    schema: z.string().min(1),
    default: undefined,
  },
  'http-port': {
    argument: '<number>',
    help: 'with --tls-cert, a second port, without TLS; 0 takes a free one; none by default',
    schema: count.max(65535, 'must be at most 65535'),
    default: undefined,
  },
  'http-answers': {
    argument: '<how>',
    help: 'answer to clients on --http-port: serve (as with TLS) or redirect (to --public-url if that has TLS, else to the same name at --port); health checks, Prometheus and other nodes are always served',
    schema: z.enum(['serve', 'redirect'], 'must be serve or redirect'),
    default: 'serve',
  },
  name: {
    argument: '<name>',
    help: "this node's name in Via, Cache-Status and routing; unique in a network of edges",
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/, 'may have letters, digits, . _ : -'),
    default: undefined,
  },
  'allow-origin': {
    argument: '<origin>',
    help: 'origin to serve: host, *.domain or * (any public one), optionally with scheme, port and path prefix; nothing is served by default',
    schema: z.array(z.string()).superRefine((entries, context) => {
      try {
        new AllowList(entries);
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as MillraceError).detail });
      }
    }),
    default: undefined,
    repeatable: true,
  },
  preset: {
    argument: '<name>',
    help: `well-known service to serve, with the hosts that it redirects to and rules for its files: ${PRESET_NAMES.join(', ')}; own rules come before them`,
    schema: z.array(z.enum(PRESET_NAMES, `must be one of ${PRESET_NAMES.join(', ')}`)),
    default: undefined,
    repeatable: true,
  },
  'rules-file': {
    argument: '<file>',
    help: 'JSON file with origins to serve and rules for them: types, sizes, quotas; read again on SIGHUP',
    schema: usable(OriginRules.fromFile),
    default: undefined,
  },
  'link-secret-file': {
    argument: '<file>',
    help: 'file with the secrets of signed links, one per line; the first signs new links; read again on SIGHUP',
    schema: usable(readLinkSecrets),
    default: undefined,
  },
  'origin-keys-file': {
    argument: '<file>',
    help: 'JSON file, mode 0600, with what this edge shows to origins that let only it in (keys of S3, header fields, certificates) and with second origins; read again on SIGHUP',
    schema: usable(OriginKeys.fromFile),
    default: undefined,
  },
  'default-scheme': {
    argument: '<scheme>',
    help: 'scheme of prefixed URLs that name none: http or https',
    schema: z.enum(['http', 'https'], 'must be http or https'),
    default: 'https',
  },
  'cache-memory': {
    argument: '<size>',
    help: 'memory for the cache: chunks, and the versions and headers of files; 0 for none',
    schema: text(parseBytes),
    default: '256MiB',
  },
  'max-memory': {
    argument: '<size>',
    help: 'most memory that the edge may take; close to it the edge refuses new transfers and resets the slowest readers; by default 1792MiB more than --cache-memory, and at most nine tenths of the memory of the machine or container',
    schema: text(parseBytes),
    default: undefined,
  },
  'cache-dir': {
    argument: '<folder>',
    help: 'folder for the cache on disk; none by default',
    schema: z.string().min(1),
    default: undefined,
  },
  'cache-disk': {
    argument: '<size>',
    help: 'disk space for cached chunks',
    schema: text(parseBytes),
    default: '10GiB',
  },
  'chunk-size': {
    argument: '<size>',
    help: 'size of the chunks that files are cut into, a power of two from 64KiB to 16MiB',
    schema: text((value) => {
      const bytes = parseBytes(value);
      if (isLegalChunkSize(bytes)) return bytes;
      throw new MillraceError('bad-option', 'must be a power of two from 64KiB to 16MiB');
    }),
    default: formatBytes(DEFAULT_CHUNK_BYTES).replace(' ', ''),
  },
  'origin-connections': {
    argument: '<number>',
    help: 'connections to one origin at a time',
    schema: count.min(1, 'must be at least 1').max(1024, 'must be at most 1024'),
    default: '32',
  },
  'origin-timeout': {
    argument: '<time>',
    help: 'longest time that an origin may take to answer, or pause in the middle of a body',
    schema: text(parseDuration),
    default: '30s',
  },
  'client-transfers': {
    argument: '<number>',
    help: 'transfers at once per client address; 0 for no limit',
    schema: count,
    default: '256',
  },
  'client-requests': {
    argument: '<number>',
    help: 'requests per second per client address, in bursts of 5 s; 0 for no limit',
    schema: count,
    default: '200',
  },
  'client-rate': {
    argument: '<rate>',
    help: 'bytes per second per client address, such as 10MiB/s; 0 for no limit',
    schema: text((value) => (value === '0' ? 0 : parseRate(value))),
    default: '0',
  },
  'client-origins': {
    argument: '<number>',
    help: 'new origins per minute that one client address may name, in bursts of 5 minutes; origins that it has used lately do not count; 0 for no limit',
    schema: count,
    default: '30',
  },
  'max-amplification': {
    argument: '<number>',
    help: 'bytes fetched from origins per byte that a client address takes, beyond an allowance of 256 chunks that grows back by one chunk each second; 0 for no limit',
    schema: z.coerce.number().min(0, 'must not be negative'),
    default: '10',
  },
  'trusted-proxy': {
    argument: '<network>',
    help: 'reverse proxies in front of this edge, such as 10.0.0.0/8; the client is the address that they name',
    schema: z.array(text(parseNetwork)),
    default: undefined,
    repeatable: true,
  },
  'proxy-field': {
    argument: '<field>',
    help: 'header field in which those proxies name the client: x-forwarded-for or forwarded',
    schema: z.enum(['x-forwarded-for', 'forwarded'], 'must be x-forwarded-for or forwarded'),
    default: 'x-forwarded-for',
  },
  'max-connections': {
    argument: '<number>',
    help: 'client connections at a time; when all are taken, the edge closes idle connections of the client address that has most',
    schema: count.min(1, 'must be at least 1'),
    default: '20000',
  },
  'client-connections': {
    argument: '<number>',
    help: 'connections that one client address keeps when all are taken and in use; beyond them, its newest connections make room for clients with fewer; with many clients the number falls to an equal part of all; 0 for an eighth of --max-connections',
    schema: count,
    default: '0',
  },
  'max-origins': {
    argument: '<number>',
    help: 'origins in use at a time, a quarter of them for one client address; idle ones make room',
    schema: count.min(4, 'must be at least 4'),
    default: '1000',
  },
  'own-requests': {
    argument: '<number>',
    help: "requests for the edge's own pages and endpoints, such as /-/status, per second per client address, in bursts of 5 s; 0 for no limit",
    schema: count,
    default: '20',
  },
  'status-age': {
    argument: '<time>',
    help: 'greatest age of the figures in /-/status, /-/metrics and /-/edges; requests within this time share them',
    schema: text(parseDuration),
    default: '1s',
  },
  peers: {
    argument: '<address>',
    help: 'other nodes of the network, host:port, separated by commas; a DNS name stands for all its addresses; this option makes the edge a node of a network',
    schema: z
      .array(text((list) => list.split(',').map((entry) => parseSeed(entry.trim()))))
      .transform((lists) => lists.flat()),
    default: undefined,
    repeatable: true,
  },
  'public-url': {
    argument: '<url>',
    help: 'address under which clients reach this node, told to aware clients in /-/edges',
    schema: text(parseBaseUrl),
    default: undefined,
  },
  geoip: {
    argument: '<file>',
    help: 'database of the places of addresses, MMDB with cities such as GeoLite2-City; /-/near/ uses it for clients whose round trips no node has measured; read again on SIGHUP',
    schema: z.string().min(1),
    default: undefined,
  },
  'peer-url': {
    argument: '<url>',
    help: 'address under which other nodes reach this one, if it is not the source address of its connections with --port',
    schema: text(parseBaseUrl),
    default: undefined,
  },
  'secret-file': {
    argument: '<file>',
    help: 'file with the secret of the network, at least 16 characters, the same on all nodes; without it nodes accept each other on loopback only',
    schema: text((path) => readSecret(path, 16)),
    default: undefined,
  },
  'admin-token-file': {
    argument: '<file>',
    help: 'file with the token for administration such as POST /-/drain, at least 16 characters',
    schema: text((path) => readSecret(path, 16)),
    default: undefined,
  },
  'admin-port': {
    argument: '<number>',
    help: 'a separate port for the dashboard and administration, which --port then does not serve; 0 takes a free one; none by default',
    schema: count.max(65535, 'must be at most 65535'),
    default: undefined,
  },
  'admin-host': {
    argument: '<address>',
    help: 'address to listen on with --admin-port',
    schema: z.string().min(1),
    default: '127.0.0.1',
  },
  'pin-quota': {
    argument: '<size>',
    help: 'space that pinned files may take of the disk tier (of memory if there is none); half of it by default',
    schema: text(parseBytes),
    default: undefined,
  },
  'pin-max': {
    argument: '<time>',
    help: 'longest time that a file can be pinned for at once',
    schema: text(parseDuration),
    default: '30d',
  },
  'peer-policy': {
    argument: '<policy>',
    help: 'nodes that may use this one: open (all), closed (none) or org:NAME (those of that organisation)',
    schema: z
      .string()
      .regex(/^(open|closed|org:[A-Za-z0-9._-]{1,64})$/, 'must be open, closed or org:NAME'),
    default: 'open',
  },
  org: {
    argument: '<name>',
    help: "this node's organisation, for peers with the policy org:NAME",
    schema: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'may have letters, digits, . _ -'),
    default: undefined,
  },
  site: {
    argument: '<name>',
    help: 'place that this node shares with others: nodes elsewhere ask one of a site, not all',
    schema: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'may have letters, digits, . _ -'),
    default: undefined,
  },
  weight: {
    argument: '<number>',
    help: "this node's share of the chunks relative to others, 0.01 to 1000",
    schema: z.coerce.number().min(0.01, 'must be at least 0.01').max(1000, 'must be at most 1000'),
    default: '1',
  },
  'max-hops': {
    argument: '<number>',
    help: 'most times that a request is forwarded between peers, 1 to 8; up to twice more to the node that is best of all',
    schema: count.min(1, 'must be at least 1').max(8, 'must be at most 8'),
    default: String(MAX_HOPS),
  },
  workers: {
    argument: '<number>',
    help: 'processes behind one port, as nodes of one network; each also listens on its own port (--port + 1 and on) for other nodes, and has its part of the caches and limits',
    schema: count.min(1, 'must be at least 1').max(64, 'must be at most 64'),
    default: '1',
  },
  'offload-above': {
    argument: '<number>',
    help: 'number of transfers above which the edge resets the longest, so that aware clients continue elsewhere; 0 for never',
    schema: count,
    default: '0',
  },
  grace: {
    argument: '<time>',
    help: 'time that running transfers have to finish after SIGTERM before they are reset',
    schema: text(parseDuration),
    default: '10s',
  },
  ...ACME_SETTINGS,
  ...DEPOT_SETTINGS,
  ...REACH_SETTINGS,
  'log-level': {
    argument: '<level>',
    help: 'debug, info, warn, error or silent',
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent'], 'must be a log level'),
    default: 'info',
  },
  'local-token-file': {
    argument: '<file>',
    help: 'run for one user on loopback; requests with the token in this file (created if missing) may reach public origins that are not listed',
    schema: z.string().min(1),
    default: undefined,
  },
} as const satisfies Record<string, Setting>;
