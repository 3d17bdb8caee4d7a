/** Reads the proxy settings of macOS: the output of `scutil --proxy`. Pure. */

import { NO_PROXY, proxyUrl, type SystemSettings } from './system-settings.ts';

/** Program and arguments that print the settings. */
export const MAC_COMMAND = ['/usr/sbin/scutil', ['--proxy']] as const;

/**
 * Reads the settings.
 *
 * @param text a dictionary, a line for each member
 */
export function readMacSettings(text: string): SystemSettings {
  const values = new Map<string, string>();
  const exempt: string[] = [];
  let list = '';
  for (const line of text.split('\n')) {
    const [, key = '', value = ''] = /^\s*(\S+) : (.*?)\s*$/.exec(line) ?? [];
    if (value.startsWith('<array>')) list = key;
    else if (line.trim() === '}') list = '';
    else if (list === 'ExceptionsList') exempt.push(wholeNetwork(value));
    else if (list === '') values.set(key, value);
  }
  const isOn = (key: string) => values.get(key) === '1';
  const script = values.get('ProxyAutoConfigURLString') ?? '';
  if (isOn('ProxyAutoConfigEnable') && script !== '') return { way: 'script', script };
  const server = (name: string, scheme: 'http' | 'socks5') =>
    isOn(`${name}Enable`)
      ? proxyUrl(scheme, values.get(`${name}Proxy`) ?? '', Number(values.get(`${name}Port`)))
      : undefined;
  const servers = {
    http: server('HTTP', 'http'),
    https: server('HTTPS', 'http'),
    all: server('SOCKS', 'socks5'),
  };
  if (Object.values(servers).some((url) => url !== undefined)) {
    if (isOn('ExcludeSimpleHostnames')) exempt.push('<local>');
    return { way: 'servers', servers, exempt: exempt.join(',') };
  }
  return isOn('ProxyAutoDiscoveryEnable') ? { way: 'discovery' } : NO_PROXY;
}

/** Completes a network whose last zeros are left out: 169.254/16. */
function wholeNetwork(text: string): string {
  const [, address, bits] = /^(\d+(?:\.\d+){0,2})\/(\d+)$/.exec(text) ?? [];
  if (address === undefined) return text;
  return `${[...address.split('.'), '0', '0', '0'].slice(0, 4).join('.')}/${bits}`;
}
