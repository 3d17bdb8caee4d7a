/** Reads the proxy settings of this system, by the programs and files that each system has. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { GNOME_COMMAND, readGnomeSettings } from './gnome-settings.ts';
import { readKdeSettings } from './kde-settings.ts';
import { MAC_COMMAND, readMacSettings } from './mac-settings.ts';
import type { Environment } from './proxy-settings.ts';
import type { SettingsSource, SystemSettings } from './system-settings.ts';
import { readWindowsSettings, WINDOWS_COMMAND } from './windows-settings.ts';

/** Longest time for a program that prints settings, in milliseconds, and its most bytes. */
const COMMAND_MS = 20_000;
const MAX_BYTES = 1024 * 1024;

/**
 * Reads the settings.
 *
 * @throws Error if they cannot be read
 */
export async function readSystem(
  source: Exclude<SettingsSource, 'environment'>,
  env: Environment,
): Promise<SystemSettings> {
  switch (source) {
    case 'gnome':
      return readGnomeSettings(await outputOf(GNOME_COMMAND, env));
    case 'kde':
      return readKdeSettings(await textsOf(kdeFiles(env)), env);
    case 'windows':
      return readWindowsSettings(await outputOf(WINDOWS_COMMAND, env));
    case 'macos':
      return readMacSettings(await outputOf(MAC_COMMAND, env));
  }
}

/** Returns the files of KDE's settings, those of lower precedence first. */
function kdeFiles(env: Environment): string[] {
  const system = (env.XDG_CONFIG_DIRS || '/etc/xdg').split(':').toReversed();
  const own = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return [...system, own].map((folder) => join(folder, 'kioslaverc'));
}

function textsOf(paths: readonly string[]): Promise<string[]> {
  return Promise.all(
    paths.map((path) =>
      readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      }),
    ),
  );
}

function outputOf(
  [program, args]: readonly [string, readonly string[]],
  env: Environment,
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { env, timeout: COMMAND_MS, maxBuffer: MAX_BYTES, windowsHide: true },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    );
  });
}
