/** Reads GNOME's proxy settings: the output of `gsettings list-recursively`. Pure. */

import { NO_PROXY, proxyUrl, type SystemSettings } from './system-settings.ts';

/** Program and arguments that print the settings. */
export const GNOME_COMMAND = ['gsettings', ['list-recursively', 'org.gnome.system.proxy']] as const;

const SCHEMA = 'org.gnome.system.proxy';

/**
 * Reads the settings.
 *
 * @param text lines of schema, key and value, the value in GVariant's text form
 */
export function readGnomeSettings(text: string): SystemSettings {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, schema, key, value] = /^(\S+) (\S+) (.*)$/.exec(line.trim()) ?? [];
    if (schema !== undefined) values.set(`${schema} ${key}`, value as string);
  }
  const value = (child: string, key: string) => values.get(`${SCHEMA}${child} ${key}`) ?? '';
  const string = (child: string, key: string) => strings(value(child, key))[0] ?? '';
  const mode = string('', 'mode');
  if (mode === 'auto') {
    const script = string('', 'autoconfig-url');
    return script === '' ? { way: 'discovery' } : { way: 'script', script };
  }
  if (mode !== 'manual') return NO_PROXY;
  const hasLogin = value('.http', 'use-authentication') === 'true';
  const login = {
    user: string('.http', 'authentication-user'),
    password: string('.http', 'authentication-password'),
  };
  const server = (child: string, scheme: 'http' | 'socks5') => {
    const port = Number(value(child, 'port')) || 0;
    // GNOME takes a server without a port for none.
    if (port === 0) return undefined;
    const own = child === '.http' && hasLogin ? login : undefined;
    return proxyUrl(scheme, string(child, 'host'), port, own);
  };
  return {
    way: 'servers',
    servers: {
      http: server('.http', 'http'),
      https: server('.https', 'http'),
      all: server('.socks', 'socks5'),
    },
    exempt: strings(value('', 'ignore-hosts')).join(','),
  };
}

/** Returns all strings of a value in GVariant's text form, in their order. */
function strings(value: string): string[] {
  const quoted = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/g;
  return [...value.matchAll(quoted)].map(([, single, double]) =>
    (single ?? double ?? '').replace(/\\(.)/g, '$1'),
  );
}
