/** Registers the host with browsers, and unregisters it. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  BROWSERS,
  type Browser,
  type HostProgram,
  launcherOf,
  type Registration,
  registrationsOf,
  type Surroundings,
  systemManifest,
} from './registration.ts';

/**
 * current: registered for this Millrace. other: registered for another one. system: registered for
 * all users, by a package of the system. none: not registered.
 */
type HostState = 'current' | 'other' | 'system' | 'none';

export interface Registered {
  readonly browser: Browser;
  /** False if this user has not used the browser on this machine. */
  readonly present: boolean;
  readonly state: HostState;
  /** Path of the manifest. */
  readonly file: string;
}

/** Runs reg.exe. @returns its output. @throws where it fails */
export type RunRegistry = (args: readonly string[]) => Promise<string>;

const runRegistry: RunRegistry = async (args) =>
  (await promisify(execFile)('reg.exe', [...args], { windowsHide: true })).stdout;

/**
 * Registers the host with these browsers.
 *
 * @throws MillraceError `file-not-writable`
 */
export async function installHost(
  browsers: readonly Browser[],
  program: HostProgram,
  around: Surroundings,
  registry = runRegistry,
): Promise<readonly Registered[]> {
  const launcher = launcherOf(program, around);
  await write(launcher.file, launcher.contents, 0o755);
  const registrations = browsers.flatMap((browser) => inUse(registrationsOf(browser, around)));
  for (const { file, contents, key, launcher: own } of registrations) {
    if (own !== undefined) await write(own.file, own.contents, 0o755);
    await write(file, contents, 0o644);
    if (key === undefined) continue;
    await inRegistry(registry, ['add', key, '/ve', '/t', 'REG_SZ', '/d', file, '/f']);
  }
  return hostStates(browsers, program, around, registry);
}

/**
 * Unregisters the host; a missing registration is not an error.
 *
 * @throws MillraceError `file-not-writable`
 */
export async function uninstallHost(
  browsers: readonly Browser[],
  program: HostProgram,
  around: Surroundings,
  registry = runRegistry,
): Promise<readonly Registered[]> {
  const registrations = browsers.flatMap((browser) => registrationsOf(browser, around));
  // A folder that the user has named is that of the named browser.
  const rest = around.profile === undefined ? BROWSERS : [];
  const others = rest
    .filter((browser) => !browsers.includes(browser))
    .flatMap((browser) => inUse(registrationsOf(browser, around)))
    .filter(({ config }) => existsSync(config));
  for (const { file, key, launcher } of registrations) {
    // Some browsers look where another one does, which keeps its registration.
    if (others.some((other) => (key === undefined ? other.file === file : other.key === key)))
      continue;
    if (launcher !== undefined) await remove(launcher.file);
    if (key === undefined) await remove(file);
    // On Windows several browsers share the manifest.
    else if ((await keyValue(key, registry)) !== undefined) {
      await inRegistry(registry, ['delete', key, '/f']);
    }
  }
  const everywhere = BROWSERS.every((browser) => browsers.includes(browser));
  if (everywhere && around.profile === undefined) {
    const files = [launcherOf(program, around).file, ...registrations.map(({ file }) => file)];
    for (const file of new Set(files)) await remove(file);
  }
  return hostStates(browsers, program, around, registry);
}

/** Tells how the host is registered with these browsers. */
export function hostStates(
  browsers: readonly Browser[],
  program: HostProgram,
  around: Surroundings,
  registry = runRegistry,
): Promise<readonly Registered[]> {
  return Promise.all(
    browsers.map(async (browser) => {
      const registrations = registrationsOf(browser, around);
      const present = registrations.some(({ config }) => existsSync(config));
      const used = inUse(registrations);
      const system = await systemFile(browser, around);
      const states = await Promise.all(
        used.map(async (one) => {
          const state = await stateOf(one, program, around, registry);
          // A browser in a sandbox does not see the system's manifests; a user's manifest comes first.
          return state === 'none' && system !== undefined && one.launcher === undefined
            ? 'system'
            : state;
        }),
      );
      // The first place that lacks the registration decides: the browser may look there.
      const worst = WORST.find((state) => states.includes(state)) ?? 'none';
      const { file } = used[states.indexOf(worst)] as Registration;
      return { browser, present, state: worst, file: worst === 'system' && system ? system : file };
    }),
  );
}

/** Returns the manifest for all users, if its host exists; undefined otherwise. */
async function systemFile(browser: Browser, around: Surroundings): Promise<string | undefined> {
  const file = systemManifest(browser, around);
  const text = file && (await textOf(file));
  try {
    const { path } = JSON.parse(text || '{}');
    return typeof path === 'string' && existsSync(join(around.root ?? '/', path))
      ? file
      : undefined;
  } catch {
    return undefined;
  }
}

/** States of registrations, those that say most about a failure first. */
const WORST: readonly HostState[] = ['none', 'other', 'system', 'current'];

/** Returns the places of browsers that have been used here; the usual one if there is none. */
function inUse(registrations: readonly Registration[]): readonly Registration[] {
  const used = registrations.filter(({ config }) => existsSync(config));
  return used.length > 0 ? used : registrations.slice(0, 1);
}

async function stateOf(
  { file, contents, key, launcher: own }: Registration,
  program: HostProgram,
  around: Surroundings,
  registry: RunRegistry,
): Promise<HostState> {
  const named = key === undefined ? file : await keyValue(key, registry);
  const found = named === undefined ? undefined : await textOf(named);
  if (found === undefined) return 'none';
  const launcher = launcherOf(program, around);
  const launchers = [launcher, ...(own === undefined ? [] : [own])];
  const texts = await Promise.all(launchers.map((one) => textOf(one.file)));
  const same = found === contents && launchers.every((one, i) => one.contents === texts[i]);
  return same ? 'current' : 'other';
}

/** Returns the default value of a registry key; undefined if there is none. */
async function keyValue(key: string, registry: RunRegistry): Promise<string | undefined> {
  try {
    const [, value] = /REG_SZ\s+(.*\S)/.exec(await registry(['query', key, '/ve'])) ?? [];
    return value;
  } catch {
    return undefined;
  }
}

async function inRegistry(registry: RunRegistry, args: readonly string[]): Promise<void> {
  try {
    await registry(args);
  } catch (cause) {
    throw new MillraceError('file-not-writable', `the registry: ${args[1]}`, { cause });
  }
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

/** Writes a file that is never half written: a browser may read it at any time. */
async function write(path: string, text: string, mode: number): Promise<void> {
  if ((await textOf(path)) === text) return;
  const temporary = `${path}.${process.pid}.new`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, text);
    await chmod(temporary, mode);
    await rename(temporary, path);
  } catch (cause) {
    throw new MillraceError('file-not-writable', path, { cause });
  }
}

async function remove(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new MillraceError('file-not-writable', path, { cause });
  }
}
