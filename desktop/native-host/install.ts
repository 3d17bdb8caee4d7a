/** Registers the host with browsers, and unregisters it. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  BROWSERS,
  type Browser,
  type HostProgram,
  launcherOf,
  type Registration,
  registrationOf,
  type Surroundings,
} from './registration.ts';

/**
 * current: registered for this Millrace. other: registered for another one. none: not registered.
 */
type HostState = 'current' | 'other' | 'none';

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
  const registrations = browsers.map((browser) => registrationOf(browser, around));
  for (const { file, contents, key } of registrations) {
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
  const registrations = browsers.map((browser) => registrationOf(browser, around));
  for (const { file, key } of registrations) {
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
      const registration = registrationOf(browser, around);
      const { file, config } = registration;
      const state = await stateOf(registration, program, around, registry);
      return { browser, present: existsSync(config), state, file };
    }),
  );
}

async function stateOf(
  { file, contents, key }: Registration,
  program: HostProgram,
  around: Surroundings,
  registry: RunRegistry,
): Promise<HostState> {
  const named = key === undefined ? file : await keyValue(key, registry);
  const found = named === undefined ? undefined : await textOf(named);
  if (found === undefined) return 'none';
  const launcher = launcherOf(program, around);
  const same = found === contents && (await textOf(launcher.file)) === launcher.contents;
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
