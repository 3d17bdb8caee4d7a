/**
 * The edge's settings: one table, from which flags, environment, configuration file, --help and
 * the README's list all come. Flags win over environment, environment over file, file over default.
 */

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { MillraceError } from '@millrace/shared/base/errors';
import { DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { nearest } from '@millrace/shared/base/nearest';
import { formatBytes, parseBytes, parseDuration, parseRate } from '@millrace/shared/base/units';
import { isLegalChunkSize } from '@millrace/shared/cdn/chunk-plan';
import type { PeerPolicy } from '@millrace/shared/cdn/peer-table';
import { MAX_HOPS } from '@millrace/shared/cdn/route';
import { Command, CommanderError, Option } from 'commander';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { parseSeed, type Seed } from './peers/seeds.ts';
import { AllowList } from './policy/allow-list.ts';

/** A text option read by one of the units' readers, whose message it keeps. */
function text<T>(read: (value: string) => T) {
  return z.coerce.string().transform((value, context) => {
    try {
      return read(value);
    } catch (error) {
      const message = error instanceof MillraceError ? error.detail : String(error);
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
  });
}

const count = z.coerce.number().int('must be a whole number').min(0, 'must not be negative');

/** The address of a server, without a path. */
function parseBaseUrl(value: string): string {
  if (URL.canParse(value)) {
    const { protocol, pathname, search, origin } = new URL(value);
    if (/^https?:$/.test(protocol) && pathname === '/' && search === '') return origin;
  }
  throw new MillraceError('bad-option', 'must be like https://edge.example.org');
}

/** A secret in a file of its own: in arguments and environment others could see it. */
function readSecret(path: string, minChars: number): Buffer {
  let secret: string;
  try {
    secret = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new MillraceError('bad-option', `cannot be read: ${(error as Error).message}`);
  }
  if (secret.length >= minChars) return Buffer.from(secret);
  throw new MillraceError('bad-option', `must hold at least ${minChars} characters`);
}

/** One row of the table. */
interface Setting {
  readonly argument: string;
  readonly help: string;
  readonly schema: z.ZodType;
  /** As it would be written; undefined: no default. */
  readonly default: string | undefined;
  readonly repeatable?: boolean;
}

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
  'default-scheme': {
    argument: '<scheme>',
    help: 'scheme of prefixed URLs that name none: http or https',
    schema: z.enum(['http', 'https'], 'must be http or https'),
    default: 'https',
  },
  'cache-memory': {
    argument: '<size>',
    help: 'memory for cached chunks; 0 for none',
    schema: text(parseBytes),
    default: '256MiB',
  },
  'cache-dir': {
    argument: '<folder>',
    help: 'folder for the disk tier of the cache; none by default',
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
    help: 'size of the chunks files are cut into, a power of two from 64KiB to 16MiB',
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
    help: 'how long an origin may take to answer, or send nothing in the middle',
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
  'max-connections': {
    argument: '<number>',
    help: 'client connections at a time; more are refused',
    schema: count.min(1, 'must be at least 1'),
    default: '20000',
  },
  peers: {
    argument: '<address>',
    help: 'other nodes of the network, host:port, separated by commas; a DNS name stands for all its addresses; with it this edge becomes a node of a network',
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
  'peer-url': {
    argument: '<url>',
    help: 'address under which other nodes reach this one, where it is not the address they see it come from and its port',
    schema: text(parseBaseUrl),
    default: undefined,
  },
  'secret-file': {
    argument: '<file>',
    help: "file with the network's secret, at least 16 characters, the same on all nodes; without it nodes accept each other on loopback only",
    schema: text((path) => readSecret(path, 16)),
    default: undefined,
  },
  'admin-token-file': {
    argument: '<file>',
    help: 'file with the token for administration such as POST /-/drain, at least 16 characters',
    schema: text((path) => readSecret(path, 16)),
    default: undefined,
  },
  'peer-policy': {
    argument: '<policy>',
    help: 'which nodes may use this one: open, closed (none) or org:NAME (those of that organisation)',
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
  weight: {
    argument: '<number>',
    help: "this node's share of the chunks relative to others, 0.01 to 1000",
    schema: z.coerce.number().min(0.01, 'must be at least 0.01').max(1000, 'must be at most 1000'),
    default: '1',
  },
  'max-hops': {
    argument: '<number>',
    help: 'how often a request may be forwarded between nodes, 1 to 8',
    schema: count.min(1, 'must be at least 1').max(8, 'must be at most 8'),
    default: String(MAX_HOPS),
  },
  workers: {
    argument: '<number>',
    help: 'processes behind one port, as nodes of one network; each also listens on a port of its own (--port + 1 and on) for other nodes, and has its part of the caches and limits',
    schema: count.min(1, 'must be at least 1').max(64, 'must be at most 64'),
    default: '1',
  },
  'offload-above': {
    argument: '<number>',
    help: 'transfers at once above which the longest are reset, so that aware clients go on elsewhere; 0 for never',
    schema: count,
    default: '0',
  },
  grace: {
    argument: '<time>',
    help: 'on SIGTERM, how long running transfers may take to finish before they are reset',
    schema: text(parseDuration),
    default: '10s',
  },
  'log-level': {
    argument: '<level>',
    help: 'debug, info, warn, error or silent',
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent'], 'must be a log level'),
    default: 'info',
  },
  'local-token-file': {
    argument: '<file>',
    help: 'run for one user on loopback: requests with the token in this file (made if missing) may reach private addresses and origins not listed',
    schema: z.string().min(1),
    default: undefined,
  },
} as const satisfies Record<string, Setting>;

type Name = keyof typeof SETTINGS;

/** The settings, read and checked; sizes in bytes, times in milliseconds. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly allowOrigin: readonly string[];
  readonly defaultScheme: 'http' | 'https';
  readonly cacheMemory: number;
  readonly cacheDir: string | undefined;
  readonly cacheDisk: number;
  readonly chunkSize: number;
  readonly originConnections: number;
  readonly originTimeout: number;
  readonly clientTransfers: number;
  readonly clientRequests: number;
  readonly clientRate: number;
  readonly maxConnections: number;
  readonly grace: number;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly localTokenFile: string | undefined;
  readonly peers: readonly Seed[];
  readonly publicUrl: string | undefined;
  readonly peerUrl: string | undefined;
  readonly secretFile: Buffer | undefined;
  readonly adminTokenFile: Buffer | undefined;
  readonly peerPolicy: PeerPolicy;
  readonly org: string | undefined;
  readonly weight: number;
  readonly maxHops: number;
  readonly offloadAbove: number;
  readonly workers: number;
}

/** The program stops without starting: --help, --version, or a mistake in the settings. */
export class Stop extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Reads the settings.
 *
 * @param argv arguments after the program's name
 * @param env MILLRACE_EDGE_... variables; lists are separated by commas
 * @throws Stop with the text to print: help to standard output if its exit code is 0
 */
export function readConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Config {
  const flags = parseFlags(argv);
  const file = readFile((flags.config as string | undefined) ?? env[envName('config')]);
  const raw: Record<string, unknown> = {};
  for (const name of Object.keys(SETTINGS) as Name[]) {
    const [value, where] = pick(name, flags, env, file);
    raw[camel(name)] = value === undefined ? undefined : check(name, value, where);
  }
  refuseUnknown(
    Object.keys(env).filter((key) => key.startsWith(ENV_PREFIX)),
    [...Object.keys(SETTINGS), 'config'].map(envName),
    'environment variable',
  );
  const config = raw as unknown as Config;
  const allowOrigin = config.allowOrigin ?? [];
  const peers = config.peers ?? [];
  const name = config.name ?? `${hostname()}:${config.port}`.replace(/[^A-Za-z0-9._:-]/g, '-');
  return { ...config, allowOrigin, peers, name };
}

/** The program's command-line interface, for parsing and for --help. */
export function edgeCommand(): Command {
  const command = new Command('edge')
    .description('Millrace edge: serves large files of other servers through prefixed URLs')
    .version('0.1.0')
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .exitOverride()
    .addHelpText(
      'after',
      `
Every option can also be given as an environment variable (--cache-memory as
${envName('cache-memory')}; lists separated by commas) or in the configuration
file, YAML or JSON, by its name without the dashes. Flags win over environment,
environment over file.

Sizes: 64K, 256MiB, 10GB. Times: 500ms, 10s, 5m.`,
    );
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const text = setting.default === undefined ? '' : ` (default: ${setting.default})`;
    const option = new Option(`--${name} ${setting.argument}`, setting.help + text);
    if (setting.repeatable) {
      option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
      option.description += ' (may be repeated)';
    }
    command.addOption(option);
  }
  return command.option('--config <file>', 'configuration file, YAML or JSON');
}

const ENV_PREFIX = 'MILLRACE_EDGE_';

function parseFlags(argv: readonly string[]): Record<string, unknown> {
  let out = '';
  const command = edgeCommand().configureOutput({
    writeOut: (text) => {
      out += text;
    },
    writeErr() {},
  });
  try {
    command.parse(argv as string[], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) throw new Stop(out, 0); // --help, --version
    throw new Stop(`${error.message}\nSee --help for all options.`, 2);
  }
  return command.opts();
}

function readFile(path: string | undefined): Record<string, unknown> {
  if (path === undefined) return {};
  let content: unknown;
  try {
    content = parseYaml(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Stop(`The configuration file ${path} cannot be read: ${(error as Error).message}`, 2);
  }
  if (content === null) return {};
  if (typeof content !== 'object' || Array.isArray(content)) {
    throw new Stop(`The configuration file ${path} must hold names and values`, 2);
  }
  refuseUnknown(Object.keys(content), Object.keys(SETTINGS), `setting in ${path}`);
  return content as Record<string, unknown>;
}

function pick(
  name: Name,
  flags: Record<string, unknown>,
  env: Readonly<Record<string, string | undefined>>,
  file: Record<string, unknown>,
): [value: unknown, where: string] {
  const setting: Setting = SETTINGS[name];
  const flag = flags[camel(name)];
  if (flag !== undefined) return [flag, `--${name}`];
  const variable = env[envName(name)];
  if (variable !== undefined) {
    const value = setting.repeatable ? variable.split(',').map((v) => v.trim()) : variable;
    return [value, envName(name)];
  }
  if (file[name] !== undefined) {
    const value = file[name];
    return [setting.repeatable && !Array.isArray(value) ? [value] : value, `${name} in the file`];
  }
  return [setting.default, name];
}

function check(name: Name, value: unknown, where: string): unknown {
  const result = SETTINGS[name].schema.safeParse(value);
  if (result.success) return result.data;
  const message = result.error.issues.map((issue) => issue.message).join('; ');
  throw new Stop(`${where}: ${message} (given: ${JSON.stringify(value)})`, 2);
}

function refuseUnknown(names: string[], known: string[], what: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = nearest(unknown, known);
  const hint = near === undefined ? '' : `. Did you mean ${near}?`;
  throw new Stop(`Unknown ${what}: ${unknown}${hint}`, 2);
}

function envName(name: string): string {
  return ENV_PREFIX + name.toUpperCase().replaceAll('-', '_');
}

function camel(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
