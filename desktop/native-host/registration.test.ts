import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isOurExtension } from './caller.ts';
import { hostStates, installHost, type RunRegistry, uninstallHost } from './install.ts';
import {
  BROWSERS,
  launcherOf,
  manifestOf,
  registrationOf,
  type Surroundings,
  systemManifest,
} from './registration.ts';

const LINUX: Surroundings = { platform: 'linux', home: '/home/ann', env: {}, state: '/state' };
const MAC: Surroundings = { ...LINUX, platform: 'darwin', home: '/Users/ann' };
const WINDOWS: Surroundings = {
  platform: 'win32',
  home: 'C:\\Users\\ann',
  env: { LOCALAPPDATA: 'D:\\Local' },
  state: 'D:\\Local\\Millrace',
};
const SUPPORT = '/Users/ann/Library/Application Support';

describe('where browsers look', () => {
  test.each([
    [LINUX, 'chrome', '/home/ann/.config/google-chrome/NativeMessagingHosts'],
    [LINUX, 'chromium', '/home/ann/.config/chromium/NativeMessagingHosts'],
    [LINUX, 'edge', '/home/ann/.config/microsoft-edge/NativeMessagingHosts'],
    [LINUX, 'brave', '/home/ann/.config/BraveSoftware/Brave-Browser/NativeMessagingHosts'],
    [LINUX, 'vivaldi', '/home/ann/.config/vivaldi/NativeMessagingHosts'],
    [LINUX, 'opera', '/home/ann/.config/opera/NativeMessagingHosts'],
    [LINUX, 'firefox', '/home/ann/.mozilla/native-messaging-hosts'],
    [LINUX, 'librewolf', '/home/ann/.librewolf/native-messaging-hosts'],
    [LINUX, 'zen', '/home/ann/.zen/native-messaging-hosts'],
    [
      { ...LINUX, env: { XDG_CONFIG_HOME: '/c' } },
      'edge',
      '/c/microsoft-edge/NativeMessagingHosts',
    ],
    [MAC, 'chrome', `${SUPPORT}/Google/Chrome/NativeMessagingHosts`],
    [MAC, 'chromium', `${SUPPORT}/Chromium/NativeMessagingHosts`],
    [MAC, 'edge', `${SUPPORT}/Microsoft Edge/NativeMessagingHosts`],
    [MAC, 'brave', `${SUPPORT}/BraveSoftware/Brave-Browser/NativeMessagingHosts`],
    [MAC, 'firefox', `${SUPPORT}/Mozilla/NativeMessagingHosts`],
    [MAC, 'opera', `${SUPPORT}/com.operasoftware.Opera/NativeMessagingHosts`],
    [MAC, 'librewolf', `${SUPPORT}/LibreWolf/NativeMessagingHosts`],
    [{ ...LINUX, profile: '/p' }, 'brave', '/p/NativeMessagingHosts'],
    [{ ...LINUX, profile: '/p' }, 'firefox', '/p/native-messaging-hosts'],
  ] as const)('$platform %s', (around, browser, folder) => {
    const { file, key } = registrationOf(browser, around);
    expect(file).toBe(`${folder}/dev.millrace.host.json`);
    expect(key).toBeUndefined();
  });

  test('on Windows a key names the manifest', () => {
    const registered = BROWSERS.map((browser) => registrationOf(browser, WINDOWS));
    expect(registered.map(({ key }) => key)).toEqual(
      [
        'Google\\Chrome',
        'Chromium',
        'Microsoft\\Edge',
        'BraveSoftware\\Brave-Browser',
        'Vivaldi',
        'Google\\Chrome',
        ...Array(3).fill('Mozilla'),
      ].map((name) => `HKCU\\Software\\${name}\\NativeMessagingHosts\\dev.millrace.host`),
    );
    expect(registered.map(({ file }) => file)).toEqual([
      ...Array(6).fill('D:\\Local\\Millrace\\native-host\\chromium.json'),
      ...Array(3).fill('D:\\Local\\Millrace\\native-host\\firefox.json'),
    ]);
    expect(registered.map(({ config }) => config)).toEqual([
      'D:\\Local\\Google\\Chrome\\User Data',
      'D:\\Local\\Chromium\\User Data',
      'D:\\Local\\Microsoft\\Edge\\User Data',
      'D:\\Local\\BraveSoftware\\Brave-Browser\\User Data',
      'D:\\Local\\Vivaldi\\User Data',
      'C:\\Users\\ann\\AppData\\Roaming\\Opera Software\\Opera Stable',
      'C:\\Users\\ann\\AppData\\Roaming\\Mozilla\\Firefox',
      'C:\\Users\\ann\\AppData\\Roaming\\LibreWolf',
      'C:\\Users\\ann\\AppData\\Roaming\\zen',
    ]);
  });

  test('the manifest allows our extension and nobody else', () => {
    expect(JSON.parse(registrationOf('chrome', LINUX).contents)).toEqual({
      name: 'dev.millrace.host',
      description: 'Hands downloads of the browser to Millrace',
      path: '/state/native-host/millrace-host',
      type: 'stdio',
      allowed_origins: ['chrome-extension://fbgofjbfhfaiaophmcbdpombpjckagjn/'],
    });
    expect(JSON.parse(registrationOf('firefox', WINDOWS).contents)).toMatchObject({
      path: 'D:\\Local\\Millrace\\native-host\\millrace-host.cmd',
      allowed_extensions: ['millrace@millrace.dev'],
    });
  });
});

describe('the launcher', () => {
  test('is a batch file on Windows', () => {
    const program = { words: ['C:\\100%\\node.exe', 'C:\\a b\\main.ts'], env: { A: '1' } };
    expect(launcherOf(program, WINDOWS).contents.split('\r\n')).toEqual([
      '@echo off',
      'set "MILLRACE_STATE=D:\\Local\\Millrace"',
      'set "A=1"',
      '"C:\\100%%\\node.exe" "C:\\a b\\main.ts" %*',
      '',
    ]);
  });

  test('of a path beyond ASCII is read by Windows in UTF-8, in which it is written', () => {
    const program = { words: ['C:\\Jörg\\node.exe'], env: {} };
    const [first, second, ...rest] = launcherOf(program, WINDOWS).contents.split('\r\n');
    expect([first, second]).toEqual([
      '@echo off',
      '"%SystemRoot%\\System32\\chcp.com" 65001 <nul >nul 2>&1',
    ]);
    expect(rest).toContain('"C:\\Jörg\\node.exe" %*');
  });

  test('refuses a path with a line break', () => {
    expect(() => launcherOf({ words: ['/a\nb'], env: {} }, LINUX)).toThrow(/line break/);
  });
});

test.each([
  [['chrome-extension://fbgofjbfhfaiaophmcbdpombpjckagjn/'], true],
  [['chrome-extension://fbgofjbfhfaiaophmcbdpombpjckagjn/', '--parent-window=0'], true],
  [['/home/ann/.mozilla/x.json', 'millrace@millrace.dev'], true],
  [['chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/'], false],
  [['--x', 'chrome-extension://fbgofjbfhfaiaophmcbdpombpjckagjn/'], false],
  [['/x.json', 'other@example.org'], false],
  [[], false],
])('arguments %j come from our extension: %s', (args, ours) => {
  expect(isOurExtension(args)).toBe(ours);
});

describe('on this machine', () => {
  let folder = '';
  let around: Surroundings;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-test-it's-"));
    const home = join(folder, 'home');
    around = { platform: 'linux', home, env: {}, state: join(folder, 'state'), root: folder };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const program = { words: ['/bin/echo', "it's", '$HOME'], env: {} };
  const states = async (of = program) =>
    (await hostStates(BROWSERS, of, around)).map(({ state }) => state);

  test('the host is registered, recognized as ours, and unregistered again', async () => {
    await installHost(['chrome', 'firefox'], program, around);
    const both = (state: string) =>
      BROWSERS.map((name) => (name === 'chrome' || name === 'firefox' ? state : 'none'));
    expect(await states()).toEqual(both('current'));
    const moved = { ...program, words: ['/bin/echo', 'moved'] };
    expect(await states(moved)).toEqual(both('other'));
    await installHost(['chrome'], moved, around);
    expect(await states(moved)).toEqual(both('current'));
    const { file } = registrationOf('chrome', around);
    writeFileSync(file, '{}');
    expect((await states(moved))[0]).toBe('other');
    await uninstallHost(BROWSERS, moved, around);
    await uninstallHost(BROWSERS, moved, around);
    expect(await states(moved)).toEqual(BROWSERS.map(() => 'none'));
    expect(readdirSync(join(folder, 'state', 'native-host'))).toEqual([]);
  });

  test('a manifest of the system’s package counts while its host exists', async () => {
    const file = systemManifest('chromium', around) as string;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, manifestOf('chromium', '/native-host'));
    const chromium = async () => (await hostStates(['chromium'], program, around))[0];
    expect((await chromium())?.state).toBe('none');
    writeFileSync(join(folder, 'native-host'), '');
    expect(await chromium()).toEqual({
      browser: 'chromium',
      present: false,
      state: 'system',
      file,
    });
    // A browser in a Flatpak does not see the manifest.
    const inFlatpak = join(around.home, '.var/app/org.chromium.Chromium/config/chromium');
    mkdirSync(inFlatpak, { recursive: true });
    expect((await chromium())?.state).toBe('none');
    // A user's own registration comes before that of all users.
    expect((await installHost(['chromium'], program, around))[0]?.state).toBe('current');
    writeFileSync(file, 'not JSON');
    await uninstallHost(BROWSERS, program, around);
    expect((await chromium())?.state).toBe('none');
  });

  test('the launcher runs a program of any path, and passes arguments on', async () => {
    await installHost(['chromium'], program, around);
    const { path } = JSON.parse(readFileSync(registrationOf('chromium', around).file, 'utf8'));
    expect(statSync(path).mode & 0o111).toBe(0o111);
    const { stdout } = spawnSync(path, ['a b', '"c"'], { encoding: 'utf8', cwd: '/' });
    expect(stdout).toBe(`it's $HOME a b "c"\n`);
  });

  test('a browser in a Flatpak gets a launcher that leads out of its sandbox', async () => {
    const app = join(around.home, '.var/app/com.google.Chrome');
    mkdirSync(join(app, 'config/google-chrome'), { recursive: true });
    const [chrome] = await installHost(['chrome'], program, around);
    const file = join(app, 'config/google-chrome/NativeMessagingHosts/dev.millrace.host.json');
    expect(chrome).toEqual({ browser: 'chrome', present: true, state: 'current', file });
    const { path } = JSON.parse(readFileSync(file, 'utf8'));
    expect(path.startsWith(`${app}/`)).toBe(true);
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    // Stands for the program of that name in the sandbox.
    writeFileSync(join(bin, 'flatpak-spawn'), '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const { stdout } = spawnSync(path, ['a b'], { encoding: 'utf8', env });
    expect(stdout).toBe(`it's $HOME a b\n`);
    // The usual place is not made where only the Flatpak is used.
    expect(existsSync(join(around.home, '.config'))).toBe(false);
    await uninstallHost(BROWSERS, program, around);
    expect([file, path].filter((one) => existsSync(one))).toEqual([]);
  });

  test('Firefox from Snap counts as Firefox, whose manifest its portal reads', async () => {
    mkdirSync(join(around.home, 'snap/firefox/common'), { recursive: true });
    const [firefox] = await installHost(['firefox'], program, around);
    const file = join(around.home, '.mozilla/native-messaging-hosts/dev.millrace.host.json');
    expect(firefox).toEqual({ browser: 'firefox', present: true, state: 'current', file });
  });

  test('a browser that shares a place with another one leaves it to that one', async () => {
    for (const used of ['.mozilla', '.zen'])
      mkdirSync(join(around.home, used), { recursive: true });
    await installHost(['firefox', 'zen'], program, around);
    const { file } = registrationOf('firefox', around);
    await uninstallHost(['zen'], program, around);
    expect(existsSync(file)).toBe(true);
    expect(existsSync(registrationOf('zen', around).file)).toBe(false);
    await uninstallHost(['firefox', 'zen'], program, around);
    expect(existsSync(file)).toBe(false);
  });

  test('the registry is written, read and emptied', async () => {
    const keys = new Map<string, string>();
    const registry: RunRegistry = async ([verb = '', key = '', ...rest]) => {
      if (verb === 'add') keys.set(key, rest[rest.indexOf('/d') + 1] as string);
      else if (!keys.has(key)) throw new Error('not found');
      else if (verb === 'delete') keys.delete(key);
      return `\r\n${key}\r\n    (Default)    REG_SZ    ${keys.get(key)}\r\n\r\n`;
    };
    // On this system, Windows paths are names of files in the present folder.
    const windows: Surroundings = { ...around, platform: 'win32', state: 'C:\\state' };
    const before = process.cwd();
    process.chdir(folder);
    try {
      const [edge] = await installHost(['edge'], program, windows, registry);
      expect(edge).toMatchObject({ browser: 'edge', state: 'current' });
      expect([...keys]).toEqual([[registrationOf('edge', windows).key, edge?.file]]);
      await uninstallHost(['edge', 'chrome'], program, windows, registry);
      expect(keys.size).toBe(0);
    } finally {
      process.chdir(before);
    }
  });
});
