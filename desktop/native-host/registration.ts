/**
 * Where browsers look for native hosts, and the files they expect there
 * (developer.chrome.com/docs/extensions/develop/concepts/native-messaging, and the page of the same
 * name on MDN).
 */

import { posix, win32 } from 'node:path';
import { FIREFOX_EXTENSION_ID, NATIVE_HOST } from '@millrace/shared/bridge/native/native-api';
import { CHROMIUM_ORIGIN } from './caller.ts';

export const BROWSERS = [
  ...(['chrome', 'chromium', 'edge', 'brave', 'vivaldi', 'opera'] as const),
  ...(['firefox', 'librewolf', 'zen'] as const),
] as const;
export type Browser = (typeof BROWSERS)[number];

export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** State folder, which holds the launcher and, on Windows, the manifests. */
  readonly state: string;
  /** Folder of a browser's profile, in place of the usual folders. */
  readonly profile?: string | undefined;
  /** Root of the file system in which the system's packages are; "/" if undefined. */
  readonly root?: string | undefined;
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
  /** Launcher of this registration alone, which leads out of a sandbox to the launcher. */
  readonly launcher?: Launcher | undefined;
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
  vivaldi: ['vivaldi', 'Vivaldi', 'Vivaldi/User Data', 'Vivaldi'],
  // On Windows, Opera looks where Chrome does.
  opera: ['opera', 'com.operasoftware.Opera', 'Opera Software/Opera Stable', 'Google\\Chrome'],
  // On Windows, programs made of Firefox look where Firefox does.
  librewolf: ['.librewolf', 'LibreWolf', 'LibreWolf', 'Mozilla'],
  zen: ['.zen', 'zen', 'zen', 'Mozilla'],
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

/** Returns the manifest for all users that a browser reads; undefined if it reads none. */
export function systemManifest(
  browser: Browser,
  { platform, root = '/' }: Surroundings,
): string | undefined {
  if (platform !== 'linux') return undefined;
  const file = SYSTEM_MANIFESTS.find(([name]) => name === browser)?.[1];
  return file && posix.join(root, file);
}

/** A further place in which a browser looks, from the home folder. */
interface Place {
  /** Folder that exists where the browser has been used. */
  readonly config: string;
  /** Folder that has the folder of hosts, if it is another one. */
  readonly hosts?: string;
  /** Name of the Flatpak, which shows a sandbox of its own. */
  readonly app?: string;
}
type Further = Partial<Readonly<Record<'linux' | 'darwin', Place>>>;

const flatpak = (app: string, config: string): Further => ({
  linux: { app, config: `.var/app/${app}/${config}` },
});

/**
 * Further places: those of Flatpaks; the portal of Snap's Firefox reads the manifests of the system's
 * Firefox; Opera and Zen look, in some versions, where Chrome and Firefox do; and Firefox from 147 on
 * keeps its files below `.config` where there is no `.mozilla`.
 */
const FURTHER: Readonly<Partial<Record<Browser, readonly Further[]>>> = {
  chrome: [flatpak('com.google.Chrome', 'config/google-chrome')],
  chromium: [
    flatpak('org.chromium.Chromium', 'config/chromium'),
    flatpak('io.github.ungoogled_software.ungoogled_chromium', 'config/chromium'),
  ],
  edge: [flatpak('com.microsoft.Edge', 'config/microsoft-edge')],
  brave: [flatpak('com.brave.Browser', 'config/BraveSoftware/Brave-Browser')],
  vivaldi: [flatpak('com.vivaldi.Vivaldi', 'config/vivaldi')],
  opera: [
    { linux: { config: '.config/opera', hosts: '.config/google-chrome' } },
    flatpak('com.opera.Opera', 'config/opera'),
  ],
  firefox: [
    { linux: { config: 'snap/firefox/common', hosts: '.mozilla' } },
    { linux: { config: '.config/mozilla' } },
    flatpak('org.mozilla.firefox', '.mozilla'),
  ],
  librewolf: [flatpak('io.gitlab.librewolf-community', '.librewolf')],
  zen: [
    {
      linux: { config: '.zen', hosts: '.mozilla' },
      darwin: {
        config: 'Library/Application Support/zen',
        hosts: 'Library/Application Support/Mozilla',
      },
    },
    flatpak('app.zen_browser.zen', '.zen'),
  ],
};

/** Returns the host's registration in a browser's usual place. */
export function registrationOf(browser: Browser, around: Surroundings): Registration {
  const { platform, profile, state } = around;
  const { join } = pathsOf(platform);
  const contents = manifestOf(browser, launcherFile(around));
  const config = profile ?? configFolder(browser, around);
  const usual = platform === 'win32' && profile === undefined;
  const name = usual
    ? join(state, 'native-host', isFirefox(browser) ? 'firefox.json' : 'chromium.json')
    : join(config, hostsFolder(browser, around), `${NATIVE_HOST}.json`);
  const key = `HKCU\\Software\\${PLACES[browser][3]}\\NativeMessagingHosts\\${NATIVE_HOST}`;
  return { browser, config, file: name, contents, ...(usual ? { key } : {}) };
}

/**
 * Returns the host's registrations with a browser: the usual place first, then others that count
 * only where their `config` exists.
 */
export function registrationsOf(browser: Browser, around: Surroundings): readonly Registration[] {
  const usual = registrationOf(browser, around);
  if (around.profile !== undefined) return [usual];
  return [usual, ...(FURTHER[browser] ?? []).flatMap((place) => further(place, usual, around))];
}

function further(place: Further, usual: Registration, around: Surroundings): Registration[] {
  const { platform, home, state } = around;
  const where = place[platform as 'linux' | 'darwin'];
  if (where === undefined) return [];
  const { config, hosts = where.config, app } = where;
  const folder = posix.join(home, hosts, hostsFolder(usual.browser, around));
  const file = posix.join(folder, `${NATIVE_HOST}.json`);
  const shown = { browser: usual.browser, config: posix.join(home, config), file };
  if (app === undefined) return [{ ...shown, contents: usual.contents }];
  // A sandbox shows the browser neither the state folder nor the programs of the system.
  const own = posix.join(home, '.var/app', app, 'data', 'millrace-host');
  const lines = [
    '#!/bin/sh',
    '# Made by Millrace: leads out of the sandbox, where the user has allowed that.',
    `exec flatpak-spawn --host ${quoted(posix.join(state, 'native-host', 'millrace-host'))} "$@"`,
  ];
  const launcher = { file: own, contents: lines.map((line) => `${line}\n`).join('') };
  return [{ ...shown, contents: manifestOf(usual.browser, own), launcher }];
}

/**
 * Line of a batch file by which Windows reads the following ones in UTF-8, and not in the code page of the user's
 * language. The pipe of the browser is kept away from it.
 */
const READ_AS_UTF8 = '"%SystemRoot%\\System32\\chcp.com" 65001 <nul >nul 2>&1';

function isAscii(words: readonly string[]): boolean {
  return words.every((word) => /^[\x20-\x7e\t]*$/.test(word));
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
          ...(isAscii([...program.words, ...env.flat()]) ? [] : [READ_AS_UTF8]),
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
  const who = isFirefox(browser)
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
      isFirefox(browser) || browser === 'opera'
        ? (['APPDATA', 'Roaming'] as const)
        : (['LOCALAPPDATA', 'Local'] as const);
    return join(env[name] || join(home, 'AppData', folder), windows);
  }
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', mac);
  if (isFirefox(browser)) return join(home, linux);
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), linux);
}

/** Returns true for Firefox and the browsers made of it. */
function isFirefox(browser: Browser): boolean {
  return browser === 'firefox' || browser === 'librewolf' || browser === 'zen';
}

function hostsFolder(browser: Browser, { platform }: Surroundings): string {
  const ofFirefox = isFirefox(browser) && platform !== 'darwin';
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
