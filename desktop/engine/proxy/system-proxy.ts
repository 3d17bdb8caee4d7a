/**
 * Finds the way to each URL by the system's settings: servers, or a script (PAC). Settings are read
 * again while they are used, so that a change counts for the next request.
 */

import { readFile } from 'node:fs/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { isLoopback, type NoProxy } from './no-proxy.ts';
import { readPacAnswer, toldUrl } from './pac-answer.ts';
import { PacThread } from './pac-thread.ts';
import {
  type Environment,
  environmentExempt,
  formatProxy,
  type ProxyServer,
  systemChoice,
  systemServers,
} from './proxy-settings.ts';
import { readSystem } from './read-system.ts';
import type { SettingsSource, SystemSettings } from './system-settings.ts';

/** A proxy; undefined: without one. */
export type Way = ProxyServer | undefined;

/** The system's settings at present, for a person. */
export interface SystemProxyState {
  readonly source: SettingsSource | 'none';
  readonly way: SystemSettings['way'];
  /** Addresses of the proxies, without log-ins. */
  readonly servers: readonly string[];
  /** Address of the script, without a log-in. */
  readonly script?: string | undefined;
  /**
   * Why the settings or the script are of no use. Requests then go without a proxy if `way` is
   * `direct`, and nowhere otherwise.
   */
  readonly problem?: string | undefined;
}

/** Time for which settings are used before they are read again. */
const SETTINGS_MS: Millis = 10_000;
/** Time for which a script, or its failure, is used before it is fetched again. */
const SCRIPT_MS: Millis = 5 * 60_000;
const FAILED_SCRIPT_MS: Millis = 30_000;
/** Longest time for fetching a script, and its most bytes. */
const FETCH_MS: Millis = 30_000;
const MAX_SCRIPT_BYTES = 1024 * 1024;
/** Answers of a script to keep. */
const MAX_ANSWERS = 1000;
/** Time for which a proxy that failed is asked after others that a script names. */
const FAILED_PROXY_MS: Millis = 60_000;

interface Settings {
  readonly settings: SystemSettings;
  /** Why the settings cannot be used. */
  readonly problem?: string;
  /** Chooses among servers. @throws MillraceError `proxy-failed` if these cannot be used */
  readonly choose: (url: URL) => Way;
}

interface Script {
  /** Undefined if the script could not be fetched. */
  readonly thread?: PacThread;
  readonly problem?: string;
  /** True if the script could not be fetched again, and decides as it was. */
  readonly isKept?: boolean;
}

export interface SystemProxyOptions {
  readonly env: Environment;
  readonly source: Exclude<SettingsSource, 'environment'>;
  readonly now?: () => Millis;
  readonly read?: typeof readSystem;
}

export class SystemProxy {
  readonly #options: Required<SystemProxyOptions>;
  /** Hosts that the environment exempts. */
  readonly #exempt: NoProxy;
  #settings: Promise<Settings> | undefined;
  /** The settings that were read last. */
  #lastRead: SystemSettings | undefined;
  #settingsUntil: Millis = 0;
  #script: Promise<Script> | undefined;
  #scriptUrl = '';
  #scriptUntil: Millis = 0;
  /** The script's answers by what it was told. */
  readonly #answers = new Map<string, readonly Way[]>();
  /** Proxies that failed, by address, and until when they are asked last. */
  readonly #failed = new Map<string, Millis>();

  constructor(options: SystemProxyOptions) {
    this.#options = { now: () => performance.now(), read: readSystem, ...options };
    this.#exempt = environmentExempt(options.env);
  }

  /**
   * Returns the ways to a URL, best first, at least one. Settings that name a proxy or a script
   * which cannot be used lead nowhere: a request past the proxy could tell the network, or the
   * server, what the user meant to hide from it. (Browsers go past a script that fails, unless it is
   * marked as mandatory.)
   *
   * @throws MillraceError `proxy-failed`
   */
  async ways(url: URL): Promise<readonly Way[]> {
    const { settings, choose } = await this.#read();
    if (settings.way !== 'script') return [choose(url)];
    if (this.#isExempt(url)) return [undefined];
    const ways = await this.#byScript(settings.script ?? '', url);
    const now = this.#options.now();
    const hasFailed = (way: Way) =>
      way !== undefined && (this.#failed.get(formatProxy(way)) ?? 0) > now;
    return [...ways.filter((way) => !hasFailed(way)), ...ways.filter(hasFailed)];
  }

  /** Notes that a proxy has failed: for a minute, the others that a script names come before it. */
  failed(proxy: ProxyServer): void {
    if (this.#failed.size >= MAX_ANSWERS) this.#failed.clear();
    this.#failed.set(formatProxy(proxy), this.#options.now() + FAILED_PROXY_MS);
  }

  /** Returns what the system says, and whether that can be used. */
  async state(): Promise<SystemProxyState> {
    const { source } = this.#options;
    const { settings, problem } = await this.#read();
    const { way, script = '' } = settings;
    if (problem !== undefined) return { source, way, servers: [], problem };
    if (way === 'servers') {
      const used = systemServers(settings).filter((server) => server !== undefined);
      return { source, way, servers: [...new Set(used.map(formatProxy))] };
    }
    if (way !== 'script') return { source, way, servers: [] };
    const { problem: why } = await this.#scriptOf(script);
    return { source, way, servers: [], script: withoutLogin(script), problem: why };
  }

  /** Ends the script's thread. */
  async close(): Promise<void> {
    (await this.#script)?.thread?.close();
    this.#script = undefined;
  }

  #read(): Promise<Settings> {
    const now = this.#options.now();
    if (this.#settings === undefined || now >= this.#settingsUntil) {
      this.#settingsUntil = now + SETTINGS_MS;
      this.#settings = this.#settingsNow();
    }
    return this.#settings;
  }

  async #settingsNow(): Promise<Settings> {
    const { read, source, env } = this.#options;
    let settings: SystemSettings;
    try {
      settings = await read(source, env);
      this.#lastRead = settings;
    } catch (error) {
      // A machine without the settings' program has nothing that names a proxy.
      settings = this.#lastRead ?? { way: saysNothing(error) ? 'direct' : 'servers' };
      if (this.#lastRead === undefined) return this.#unusable(settings, error);
    }
    try {
      const choose = settings.way === 'servers' ? systemChoice(settings, env) : () => undefined;
      return { settings, choose };
    } catch (error) {
      return this.#unusable(settings, error);
    }
  }

  /** Returns settings by which only this machine itself is reached, unless they name no proxy. */
  #unusable(settings: SystemSettings, error: unknown): Settings {
    const problem = textOf(error);
    const choose = (url: URL): Way => {
      if (settings.way === 'direct' || this.#isExempt(url)) return undefined;
      throw noWay('the proxy settings of the system cannot be used', problem);
    };
    return { settings, problem, choose };
  }

  /** A script decides about other machines; this one is reached directly, as in browsers. */
  #isExempt({ hostname, port, protocol }: URL): boolean {
    const host = hostname.replace(/^\[|\]$/g, '');
    if (isLoopback(host)) return !this.#exempt.loopbackProxied;
    return this.#exempt.matches(host, Number(port) || (protocol === 'https:' ? 443 : 80));
  }

  async #byScript(script: string, url: URL): Promise<readonly Way[]> {
    const { thread, problem = '' } = await this.#scriptOf(script);
    if (thread === undefined)
      throw noWay('the script that chooses the proxy cannot be used', problem);
    const told = toldUrl(url);
    const known = this.#answers.get(told);
    if (known !== undefined) return known;
    let answer: string;
    try {
      answer = await thread.find(told);
    } catch (error) {
      // A newer script has replaced this one meanwhile, and ended its thread.
      if ((await this.#script)?.thread !== thread) return this.#byScript(script, url);
      // The next questions do not wait for a script that hangs or fails.
      thread.close();
      const why = textOf(error);
      this.#setScript(script, Promise.resolve({ problem: why }), FAILED_SCRIPT_MS);
      throw noWay('the script that chooses the proxy fails', why);
    }
    let ways: readonly Way[];
    try {
      ways = readPacAnswer(answer);
    } catch (error) {
      throw noWay('the answer of the script that chooses the proxy cannot be used', textOf(error));
    }
    if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear();
    this.#answers.set(told, ways);
    return ways;
  }

  async #scriptOf(url: string): Promise<Script> {
    const isOld = this.#options.now() >= this.#scriptUntil;
    if (this.#script === undefined || this.#scriptUrl !== url || isOld) {
      const isSame = this.#scriptUrl === url;
      const own = renewed(url, this.#script, isSame);
      this.#setScript(url, own, SCRIPT_MS);
      const { problem, isKept } = await own;
      if ((problem !== undefined || isKept) && this.#script === own) {
        this.#scriptUntil = this.#options.now() + FAILED_SCRIPT_MS;
      }
    }
    return this.#script ?? {};
  }

  #setScript(url: string, script: Promise<Script>, forMs: Millis): void {
    this.#scriptUrl = url;
    this.#script = script;
    this.#scriptUntil = this.#options.now() + forMs;
    this.#answers.clear();
  }
}

/**
 * Fetches a script in place of an earlier one; never rejects.
 *
 * @param before the earlier script, which ends
 * @param isSame true if that had the same address: it stays if this one cannot be fetched
 */
async function renewed(
  url: string,
  before: Promise<Script> | undefined,
  isSame: boolean,
): Promise<Script> {
  const [found, old] = await Promise.all([scriptAt(url), before]);
  if (found.problem !== undefined && isSame && old?.thread !== undefined)
    return { thread: old.thread, isKept: true };
  old?.thread?.close();
  return found;
}

/** Fetches a script; never rejects. */
async function scriptAt(url: string): Promise<Script> {
  try {
    return { thread: new PacThread(await textAt(url)) };
  } catch (error) {
    return { problem: textOf(error) };
  }
}

/** @throws Error */
async function textAt(text: string): Promise<string> {
  const url = new URL(text);
  if (url.protocol === 'file:') return bounded([await readFile(url)]);
  if (!/^https?:$/.test(url.protocol)) throw new Error(`${url.protocol} is not understood`);
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) });
  if (!response.ok) throw new Error(`its server answers ${response.status}`);
  return bounded(response.body ?? []);
}

async function bounded(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > MAX_SCRIPT_BYTES) throw new Error('it is too long');
    all.push(piece);
  }
  return Buffer.concat(all).toString('utf8');
}

/** Returns true for the failure of a program that is not there, or that has no settings to print. */
function saysNothing(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOENT' || typeof code === 'number';
}

function noWay(what: string, why: string): MillraceError {
  return new MillraceError('proxy-failed', `${what} (${why}), and nothing is sent past it`);
}

function withoutLogin(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.username = '';
  url.password = '';
  return url.href;
}

function textOf(error: unknown): string {
  const { message, cause } = error as Error;
  const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
  return why.slice(0, 300);
}
