/** Reads the proxy settings of Windows: the output of `reg query`. Pure. */

import { NO_PROXY, proxyUrl, type SystemSettings } from './system-settings.ts';

/** Program and arguments that print the settings. */
export const WINDOWS_COMMAND = [
  'reg.exe',
  ['query', 'HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Internet Settings'],
] as const;

/**
 * Reads the settings.
 *
 * @param text lines of name, type and value
 */
export function readWindowsSettings(text: string): SystemSettings {
  const values = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const [, name, value] = /^\s+(\S+)\s+REG_\w+\s+(.*\S)\s*$/.exec(line) ?? [];
    if (name !== undefined) values.set(name.toLowerCase(), value as string);
  }
  const script = values.get('autoconfigurl') ?? '';
  if (script !== '') return { way: 'script', script };
  const server = values.get('proxyserver') ?? '';
  if (Number(values.get('proxyenable') ?? 0) === 0 || server === '') return NO_PROXY;
  return {
    way: 'servers',
    servers: serversOf(server),
    exempt: (values.get('proxyoverride') ?? '').replaceAll(';', ','),
  };
}

/** Reads `host:port` for all, or `http=host:port;https=host:port;socks=host:port`. */
function serversOf(text: string): SystemSettings['servers'] {
  if (!text.includes('=')) return { all: proxyUrl('http', text) };
  const parts = new Map(
    text.split(/[;\s]+/).map((part) => {
      const [scheme = '', address = ''] = part.split('=', 2);
      return [scheme.toLowerCase(), address] as const;
    }),
  );
  return {
    http: proxyUrl('http', parts.get('http') ?? ''),
    https: proxyUrl('http', parts.get('https') ?? ''),
    // Windows means SOCKS4 by "socks"; browsers take it so too.
    all: proxyUrl('socks5', (parts.get('socks') ?? '').replace(/^(?=[^/]+$)/, 'socks4a://')),
  };
}
