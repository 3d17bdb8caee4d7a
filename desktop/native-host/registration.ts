/**
 * Where browsers look for native hosts, and the files they expect there
 * (developer.chrome.com/docs/extensions/develop/concepts/native-messaging, and the page of the same
 * name on MDN).
 */

import { posix, win32 } from 'node:path';
import { FIREFOX_EXTENSION_ID, NATIVE_HOST } from '@millrace/shared/bridge/native/native-api';
import { CHROMIUM_ORIGIN } from './caller.ts';

export const BROWSERS = ['chrome', 'chromium', 'edge', 'brave', 'firefox'] as const;
export type Browser = (typeof BROWSERS)[number];

export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** State folder, which holds the launcher and, on Windows, the manifests. */
  readonly state: string;
  /** Folder of a browser's profile, in place of the usual folders. */
  readonly profile?: string | undefined;
}

export interface Registration {
  readonly browser: Browser;
  /** Folder that exists where the browser has been used. */
  readonly config: string;
  /** Path of the manifest. */
  readonly file: string;
  readonly contents: string;
  /** Windows: registry key whose default value names the manifest. */
  readonly key?: string | undefined;
}

export interface Launcher {
  readonly file: string;
  readonly contents: string;
}

/** Program and arguments that run the host, and its environment. */
export interface HostProgram {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Folders below that for applications' settings (Linux, macOS, Windows), and the registry key. */
const PLACES: Readonly<
  Record<Browser, readonly [linux: string, mac: string, windows: string, key: string]>
> = {
  chrome: ['google-chrome', 'Google/Chrome', 'Google/Chrome/User Data', 'Google\\Chrome'],
  chromium: ['chromium', 'Chromium', 'Chromium/User Data', 'Chromium'],
  edge: ['microsoft-edge', 'Microsoft Edge', 'Microsoft/Edge/User Data', 'Microsoft\\Edge'],
  brave: [
    'BraveSoftware/Brave-Browser',
    'BraveSoftware/Brave-Browser',
    'BraveSoftware/Brave-Browser/User Data',
    'BraveSoftware\\Brave-Browser',
  ],
  firefox: ['.mozilla', 'Mozilla', 'Mozilla/Firefox', 'Mozilla'],
};

/**
 * Files in which browsers on Linux look for the host of all users, for packages of the system. Brave
 * looks where Chrome does, or only in its users' folders, depending on its version.
 */
export const SYSTEM_MANIFESTS: readonly (readonly [Browser, string])[] = [
  ['chrome', `/etc/opt/chrome/native-messaging-hosts/${NATIVE_HOST}.json`],
  ['chromium', `/etc/chromium/native-messaging-hosts/${NATIVE_HOST}.json`],
  ['edge', `/etc/opt/edge/native-messaging-hosts/${NATIVE_HOST}.json`],
  ['firefox', `/usr/lib/mozilla/native-messaging-hosts/${NATIVE_HOST}.json`],
];

/** Returns the host's registration with a browser. */
export function registrationOf(browser: Browser, around: Surroundings): Registration {
  const { platform, profile, state } = around;
  const { join } = pathsOf(platform);
  const contents = manifestOf(browser, launcherFile(around));
  const config = profile ?? configFolder(browser, around);
  const usual = platform === 'win32' && profile === undefined;
  const name = usual
    ? join(state, 'native-host', browser === 'firefox' ? 'firefox.json' : 'chromium.json')
    : join(config, hostsFolder(browser, around), `${NATIVE_HOST}.json`);
  const key = `HKCU\\Software\\${PLACES[browser][3]}\\NativeMessagingHosts\\${NATIVE_HOST}`;
  return { browser, config, file: name, contents, ...(usual ? { key } : {}) };
}

/** Returns the launcher, a script: manifests name one executable, without arguments. */
export function launcherOf(program: HostProgram, around: Surroundings): Launcher {
  const { platform, state } = around;
  const env = Object.entries({ MILLRACE_STATE: state, ...program.env });
  for (const text of [...program.words, ...env.flat()]) {
    if (/[\0\r\n]/.test(text)) throw new TypeError('a path with a line break cannot be written');
  }
  const lines =
    platform === 'win32'
      ? [
          '@echo off',
          ...env.map(([name, value]) => `set "${name}=${percents(value)}"`),
          `${program.words.map((word) => `"${percents(word)}"`).join(' ')} %*`,
        ]
      : [
          '#!/bin/sh',
          '# Made by Millrace: browsers start it for the extension.',
          ...env.map(([name, value]) => `export ${name}=${quoted(value)}`),
          `exec ${program.words.map(quoted).join(' ')} "$@"`,
        ];
  const end = platform === 'win32' ? '\r\n' : '\n';
  return { file: launcherFile(around), contents: lines.map((line) => line + end).join('') };
}

function launcherFile({ platform, state }: Surroundings): string {
  const name = platform === 'win32' ? 'millrace-host.cmd' : 'millrace-host';
  return pathsOf(platform).join(state, 'native-host', name);
}

/** Returns the manifest of the host for a browser. @param path of the host's executable */
export function manifestOf(browser: Browser, path: string): string {
  const who =
    browser === 'firefox'
      ? { allowed_extensions: [FIREFOX_EXTENSION_ID] }
      : { allowed_origins: [CHROMIUM_ORIGIN] };
  const description = 'Hands downloads of the browser to Millrace';
  const manifest = { name: NATIVE_HOST, description, path, type: 'stdio', ...who };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function configFolder(browser: Browser, { platform, home, env }: Surroundings): string {
  const { join } = pathsOf(platform);
  const [linux, mac, windows] = PLACES[browser];
  if (platform === 'win32') {
    const [name, folder] =
      browser === 'firefox'
        ? (['APPDATA', 'Roaming'] as const)
        : (['LOCALAPPDATA', 'Local'] as const);
    return join(env[name] || join(home, 'AppData', folder), windows);
  }
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', mac);
  if (browser === 'firefox') return join(home, linux);
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), linux);
}

function hostsFolder(browser: Browser, { platform }: Surroundings): string {
  const ofFirefox = browser === 'firefox' && platform !== 'darwin';
  return ofFirefox ? 'native-messaging-hosts' : 'NativeMessagingHosts';
}

function pathsOf(platform: NodeJS.Platform) {
  return platform === 'win32' ? win32 : posix;
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return `'${word.replace(/'/g, "'\\''")}'`;
}

/** Escapes percent signs for a batch file; Windows paths cannot contain quotes anyway. */
function percents(text: string): string {
  return text.replace(/%/g, '%%');
}
