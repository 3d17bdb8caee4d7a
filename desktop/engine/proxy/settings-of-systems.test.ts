import { describe, expect, test } from '@jest/globals';
import { settingsSource } from './desktop-kind.ts';
import { readGnomeSettings } from './gnome-settings.ts';
import { readKdeSettings } from './kde-settings.ts';
import { readMacSettings } from './mac-settings.ts';
import { formatProxy, systemChoice } from './proxy-settings.ts';
import type { SystemSettings } from './system-settings.ts';
import { readWindowsSettings } from './windows-settings.ts';

function choose(settings: SystemSettings, url: string, env = {}): string {
  const chosen = systemChoice(settings, env)(new URL(url));
  return chosen === undefined ? 'direct' : formatProxy(chosen);
}

describe('GNOME', () => {
  const gnome = (changes: Record<string, string>) => {
    const values: Record<string, string> = {
      ' mode': "'manual'",
      ' autoconfig-url': "''",
      ' ignore-hosts': "['localhost', '127.0.0.0/8', '::1', '*.corp.test', '10.0.0.0/8']",
      '.http host': "'proxy.test'",
      '.http port': '8080',
      '.http use-authentication': 'false',
      '.http authentication-user': "''",
      '.http authentication-password': "''",
      '.https host': "'secure.test'",
      '.https port': '8443',
      '.socks host': "''",
      '.socks port': '0',
      ...changes,
    };
    const line = ([key, value]: [string, string]) => `org.gnome.system.proxy${key} ${value}\n`;
    return readGnomeSettings(Object.entries(values).map(line).join(''));
  };

  test('names a server for each scheme, and hosts without one', () => {
    const settings = gnome({});
    expect(choose(settings, 'http://x.test/')).toBe('http://proxy.test:8080');
    expect(choose(settings, 'https://x.test/')).toBe('http://secure.test:8443');
    expect(choose(settings, 'http://a.corp.test/')).toBe('direct');
    expect(choose(settings, 'http://10.1.2.3/')).toBe('direct');
    expect(choose(settings, 'http://x.test/', { no_proxy: 'x.test' })).toBe('direct');
  });

  test('a SOCKS server serves both where there is no other', () => {
    const socks = { '.socks host': "'s.test'", '.socks port': '1080', '.http host': "''" };
    expect(choose(gnome(socks), 'http://x.test/')).toBe('socks5://s.test:1080');
    expect(choose(gnome(socks), 'https://x.test/')).toBe('http://secure.test:8443');
    // GNOME keeps a host whose port was cleared.
    expect(choose(gnome({ '.http port': '0' }), 'http://x.test/')).toBe('direct');
  });

  test('a log-in is taken, with all its characters', () => {
    const settings = gnome({
      '.http use-authentication': 'true',
      '.http authentication-user': "'us@er'",
      '.http authentication-password': `'p:a\\'s/s"'`,
    });
    expect(systemChoice(settings, {})(new URL('http://x.test/'))).toMatchObject({
      user: 'us@er',
      password: `p:a's/s"`,
      host: 'proxy.test',
    });
  });

  test('a script, discovery, and nothing', () => {
    const auto = { ' mode': "'auto'" };
    expect(gnome(auto)).toEqual({ way: 'discovery' });
    expect(gnome({ ...auto, ' autoconfig-url': "'http://w/p.pac'" })).toEqual({
      way: 'script',
      script: 'http://w/p.pac',
    });
    expect(gnome({ ' mode': "'none'" })).toEqual({ way: 'direct' });
    expect(readGnomeSettings('No such schema\n')).toEqual({ way: 'direct' });
  });
});

describe('KDE', () => {
  const kde = (lines: string, env = {}) =>
    readKdeSettings(['[Other]\nProxyType=3\n', `[Proxy Settings]\n${lines}`], env);

  test('names servers with a port behind a blank, and hosts without one', () => {
    const text = 'ProxyType=1\nhttpProxy[$e]=http://proxy.test 8080\nhttpsProxy=proxy.test:8443\n';
    const settings = kde(`${text}socksProxy=socks://s.test 1080\nNoProxyFor=.corp.test,plain\n`);
    expect(choose(settings, 'http://x.test/')).toBe('http://proxy.test:8080');
    expect(choose(settings, 'https://x.test/')).toBe('http://proxy.test:8443');
    expect(choose(settings, 'http://a.corp.test/')).toBe('direct');
    const only = kde('ProxyType=1\nsocksProxy=socks://s.test 1080\n');
    expect(choose(only, 'https://x.test/')).toBe('socks5://s.test:1080');
  });

  test('a reversed list names the hosts with a proxy', () => {
    const lines = 'ProxyType=1\nhttpProxy=http://p.test 1\nNoProxyFor=a.test\n';
    const settings = kde(`${lines}ReversedException=true\n`);
    expect(choose(settings, 'http://a.test/')).toBe('http://p.test:1');
    expect(choose(settings, 'http://b.test/')).toBe('direct');
  });

  test('variables, a script, discovery, and nothing', () => {
    const env = { MY_PROXY: 'http://v.test:3128', MY_EXEMPT: 'x.test' };
    const variables = kde('ProxyType=4\nhttpProxy=MY_PROXY\nNoProxyFor=MY_EXEMPT\n', env);
    expect(choose(variables, 'http://y.test/')).toBe('http://v.test:3128');
    expect(choose(variables, 'http://x.test/')).toBe('direct');
    expect(kde('ProxyType=2\nProxy Config Script=/home/a b/p.pac')).toEqual({
      way: 'script',
      script: 'file:///home/a%20b/p.pac',
    });
    expect(kde('ProxyType=3')).toEqual({ way: 'discovery' });
    expect(kde('ProxyType=0\nhttpProxy=http://p.test 1')).toEqual({ way: 'direct' });
    expect(readKdeSettings([], {})).toEqual({ way: 'direct' });
  });
});

describe('Windows', () => {
  const windows = (values: Record<string, string>) =>
    readWindowsSettings(
      `\r\nHKEY_CURRENT_USER\\Software\r\n${Object.entries(values)
        .map(([name, value]) => `    ${name}    ${value}\r\n`)
        .join('')}\r\n`,
    );

  test('one server for all, and hosts without one', () => {
    const settings = windows({
      ProxyEnable: 'REG_DWORD    0x1',
      ProxyServer: 'REG_SZ    proxy.test:8080',
      ProxyOverride: 'REG_SZ    *.corp.test;192.168.*;<local>',
    });
    expect(choose(settings, 'https://x.test/')).toBe('http://proxy.test:8080');
    expect(choose(settings, 'https://a.corp.test/')).toBe('direct');
    expect(choose(settings, 'http://192.168.7.1/')).toBe('direct');
    expect(choose(settings, 'http://printer/')).toBe('direct');
    expect(choose(settings, 'http://192.169.7.1/')).toBe('http://proxy.test:8080');
  });

  test('a server for each scheme', () => {
    const settings = windows({
      ProxyEnable: 'REG_DWORD    0x1',
      ProxyServer: 'REG_SZ    http=a.test:1;https=b.test:2;ftp=c.test:3;socks=d.test:4',
    });
    expect(choose(settings, 'http://x.test/')).toBe('http://a.test:1');
    expect(choose(settings, 'https://x.test/')).toBe('http://b.test:2');
    const socks = windows({
      ProxyEnable: 'REG_DWORD    0x1',
      ProxyServer: 'REG_SZ    socks=d.test:4',
    });
    expect(choose(socks, 'http://x.test/')).toBe('socks4a://d.test:4');
  });

  test('a script, and settings that are off', () => {
    const off = { ProxyEnable: 'REG_DWORD    0x0', ProxyServer: 'REG_SZ    proxy.test:8080' };
    expect(windows(off)).toEqual({ way: 'direct' });
    expect(windows({ ...off, AutoConfigURL: 'REG_SZ    http://w/p.pac' })).toEqual({
      way: 'script',
      script: 'http://w/p.pac',
    });
  });
});

describe('macOS', () => {
  const mac = (lines: string) => readMacSettings(`<dictionary> {\n${lines}}\n`);
  const SERVERS =
    '  HTTPEnable : 1\n  HTTPPort : 8080\n  HTTPProxy : proxy.test\n  HTTPSEnable : 0\n' +
    '  HTTPSPort : 1\n  HTTPSProxy : off.test\n';

  test('servers that are switched on, and hosts without one', () => {
    const list = '  ExceptionsList : <array> {\n    0 : *.local\n    1 : 169.254/16\n  }\n';
    const settings = mac(`${list}  ExcludeSimpleHostnames : 1\n${SERVERS}`);
    expect(choose(settings, 'http://x.test/')).toBe('http://proxy.test:8080');
    expect(choose(settings, 'https://x.test/')).toBe('direct');
    expect(choose(settings, 'http://mac.local/')).toBe('direct');
    expect(choose(settings, 'http://169.254.3.4/')).toBe('direct');
    expect(choose(settings, 'http://printer/')).toBe('direct');
  });

  test('a script has precedence; discovery and nothing', () => {
    const script = '  ProxyAutoConfigEnable : 1\n  ProxyAutoConfigURLString : http://w/p.pac\n';
    expect(mac(SERVERS + script)).toEqual({ way: 'script', script: 'http://w/p.pac' });
    expect(mac('  ProxyAutoDiscoveryEnable : 1\n')).toEqual({ way: 'discovery' });
    expect(mac('  FTPPassive : 1\n')).toEqual({ way: 'direct' });
  });
});

test.each([
  ['linux', { XDG_CURRENT_DESKTOP: 'ubuntu:GNOME' }, 'gnome'],
  ['linux', { XDG_CURRENT_DESKTOP: 'X-Cinnamon' }, 'gnome'],
  ['linux', { XDG_CURRENT_DESKTOP: 'KDE' }, 'kde'],
  ['linux', { XDG_CURRENT_DESKTOP: 'XFCE' }, undefined],
  ['linux', {}, undefined],
  ['win32', {}, 'windows'],
  ['darwin', {}, 'macos'],
] as const)('%s with %j has the settings of %s', (platform, env, source) => {
  expect(settingsSource(env, platform)).toBe(source);
});
