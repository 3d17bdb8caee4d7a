/** Reads KDE's proxy settings: the file `kioslaverc`. Pure. */

import { NO_PROXY, proxyUrl, type SystemSettings } from './system-settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings.
 *
 * @param texts contents of the files of that name, those of lower precedence first
 * @param env for settings that name a variable of the environment
 */
export function readKdeSettings(texts: readonly string[], env: Environment): SystemSettings {
  const values = new Map<string, string>();
  for (const text of texts) {
    let group = '';
    for (const line of text.split(/\r?\n/)) {
      group = /^\[(.*)\]$/.exec(line.trim())?.[1] ?? group;
      // A key may be followed by options such as [$e].
      const [, key, value] = /^([^=[]+?)\s*(?:\[[^=]*\])?\s*=(.*)$/.exec(line) ?? [];
      if (group === 'Proxy Settings' && key !== undefined) values.set(key, (value ?? '').trim());
    }
  }
  const type = values.get('ProxyType') ?? '0';
  // Of type 4, settings are names of variables.
  const get = (key: string) => {
    const value = values.get(key) ?? '';
    return type === '4' ? (env[value] ?? '') : value;
  };
  if (type === '3') return { way: 'discovery' };
  if (type === '2') {
    const script = scriptUrl(get('Proxy Config Script'));
    return script === '' ? NO_PROXY : { way: 'script', script };
  }
  if (type !== '1' && type !== '4') return NO_PROXY;
  const server = (key: string, scheme: 'http' | 'socks5') => {
    const [host = '', port] = get(key).split(/\s+/);
    return proxyUrl(scheme, host.replace(/^socks:/i, 'socks5:'), Number(port) || undefined);
  };
  return {
    way: 'servers',
    servers: {
      http: server('httpProxy', 'http'),
      https: server('httpsProxy', 'http'),
      all: server('socksProxy', 'socks5'),
    },
    exempt: get('NoProxyFor'),
    isReversed: values.get('ReversedException') === 'true',
  };
}

/** KDE takes a path for a file. */
function scriptUrl(text: string): string {
  return text.startsWith('/') ? `file://${encodeURI(text)}` : text;
}
