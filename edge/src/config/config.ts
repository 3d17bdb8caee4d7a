/**
 * Reads the edge's settings: flags, environment, configuration file, --help and the list in
 * edge/README.md all come from one table. Flags win over environment, environment over file, file
 * over default.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { nearest } from '@millrace/shared/base/nearest';
import { formatBytes } from '@millrace/shared/base/units';
import { VERSION } from '@millrace/shared/base/version';
import type { PeerPolicy } from '@millrace/shared/cdn/routing/peer';
import type { ProxyField, parseNetwork } from '@millrace/shared/node/clients/client-address';
import { fileWords } from '@millrace/shared/node/files/file-words';
import { tryRead } from '@millrace/shared/schema/read';
import { Command, CommanderError, Option } from 'commander';
import { PRESET_NAMES, PRESETS, type PresetName } from '../policy/presets.ts';
import { type AcmeConfig, checkAcme } from './acme-settings.ts';
import { checkAnnounce } from './announced-at.ts';
import { checkDepot, type DepotConfig } from './depot-settings.ts';
import { type ReachConfig, type ReachRead, readReach } from './reach-config.ts';
import type { Setting } from './readers.ts';
import type { Seed } from './seeds.ts';
import { LEAST_ROOM_BYTES, SETTINGS } from './settings.ts';

type Name = keyof typeof SETTINGS;

/** The settings, read and checked; sizes in bytes, times in milliseconds. */
export interface Config extends ReachConfig, DepotConfig, AcmeConfig {
  readonly host: string;
  readonly announce: 'yes' | 'no';
  readonly port: number;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly httpPort: number | undefined;
  readonly httpAnswers: 'serve' | 'redirect';
  readonly name: string;
  readonly allowOrigin: readonly string[];
  readonly preset: readonly PresetName[];
  readonly rulesFile: string | undefined;
  readonly linkSecretFile: string | undefined;
  readonly originKeysFile: string | undefined;
  readonly defaultScheme: 'http' | 'https';
  readonly cacheMemory: number;
  /** Memory of this process, bytes; undefined: derived from the cache's. */
  readonly maxMemory: number | undefined;
  readonly cacheDir: string | undefined;
  readonly cacheDisk: number;
  readonly chunkSize: number;
  readonly originConnections: number;
  readonly originTimeout: number;
  readonly clientTransfers: number;
  readonly clientRequests: number;
  readonly clientRate: number;
  readonly clientOrigins: number;
  readonly maxAmplification: number;
  readonly trustedProxy: readonly ReturnType<typeof parseNetwork>[];
  readonly proxyField: ProxyField;
  readonly maxConnections: number;
  readonly clientConnections: number;
  readonly maxOrigins: number;
  readonly ownRequests: number;
  readonly statusAge: number;
  readonly grace: number;
  readonly traces: 'off' | 'read' | 'make';
  readonly traceOrigins: 'yes' | 'no';
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly localTokenFile: string | undefined;
  readonly peers: readonly Seed[];
  readonly publicUrl: string | undefined;
  readonly geoip: string | undefined;
  readonly peerUrl: string | undefined;
  readonly secretFile: Buffer | undefined;
  readonly adminTokenFile: Buffer | undefined;
  readonly adminPort: number | undefined;
  readonly adminHost: string;
  /** Bytes; undefined: half of the cache tier. */
  readonly pinQuota: number | undefined;
  readonly pinMax: number;
  readonly peerPolicy: PeerPolicy;
  readonly org: string | undefined;
  readonly site: string | undefined;
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
    // `token` is for the command line that administers edges.
    [...Object.keys(SETTINGS), 'config', 'token'].map(envName),
    'environment variable',
  );
  const config = raw as unknown as Config;
  checkTls(config);
  checkMemory(config);
  const allowOrigin = config.allowOrigin ?? [];
  const preset = config.preset ?? [];
  const peers = config.peers ?? [];
  const trustedProxy = config.trustedProxy ?? [];
  const name = config.name ?? `${hostname()}:${config.port}`.replace(/[^A-Za-z0-9._:-]/g, '-');
  const stop = (message: string): never => {
    throw new Stop(message, 2);
  };
  checkAcme(config, stop);
  checkDepot(config, stop);
  checkAnnounce(config, stop);
  const reach = readReach(raw as unknown as ReachRead, stop);
  return { ...config, ...reach, allowOrigin, preset, peers, trustedProxy, name };
}

/** Returns true if there are files that are read again on SIGHUP. */
export function canReload(config: Config): boolean {
  const { tlsCert, rulesFile, linkSecretFile, originKeysFile, geoip, depotOwnersFile } = config;
  const files = [tlsCert, rulesFile, linkSecretFile, originKeysFile, geoip, depotOwnersFile];
  return files.some((file) => file !== undefined);
}

/** Makes the program's command-line interface, for parsing and for --help. */
export function edgeCommand(): Command {
  const command = new Command('edge')
    .description('Millrace edge: serves large files of other servers through prefixed URLs')
    .version(VERSION)
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

Sizes: 64K, 256MiB, 10GB. Times: 500ms, 10s, 5m.

Presets:
${PRESET_NAMES.map((name) => `  ${name.padEnd(12)} ${PRESETS[name].title}`).join('\n')}`,
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

/** @throws Stop for settings that make no sense without each other */
function checkTls({ tlsCert, tlsKey, httpPort }: Config): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new Stop('--tls-cert and --tls-key go together: only one of them is given', 2);
  }
  if (httpPort !== undefined && tlsCert === undefined) {
    throw new Stop('--http-port is a second port beside that for TLS: --tls-cert is missing', 2);
  }
}

/** @throws Stop if the caches would leave a process no memory for transfers */
function checkMemory({ maxMemory, cacheMemory, workers }: Config): void {
  const least = cacheMemory + LEAST_ROOM_BYTES * workers;
  if (maxMemory === undefined || maxMemory >= least) return;
  throw new Stop(
    `--max-memory must be at least ${formatBytes(least)}: --cache-memory and ${formatBytes(LEAST_ROOM_BYTES)} for each process`,
    2,
  );
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
    // Loaded only here: most edges have no such file.
    const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
    content = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Stop(`The configuration file ${path} cannot be read: ${fileWords(error)}`, 2);
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
  const result = tryRead(SETTINGS[name].schema, value);
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
