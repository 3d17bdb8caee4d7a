/** Gives all downloads of a process the same view of the system's proxy settings. */

import { settingsSource } from './desktop-kind.ts';
import {
  type Environment,
  environmentServers,
  formatProxy,
  type ProxyServer,
  parseProxy,
} from './proxy-settings.ts';
import type { SystemProxy, SystemProxyState } from './system-proxy.ts';

/** Finds ways by the system's settings; see `SystemProxy`. */
export type SystemWays = Pick<SystemProxy, 'ways' | 'failed'>;

/** The view of this system, once something has asked for it. */
let own: Promise<SystemProxy> | undefined;

/** Returns ways by this system's settings; undefined if it has none, as on servers. */
export function systemWays(env: Environment): SystemWays | undefined {
  const source = settingsSource(env, process.platform);
  if (source === undefined) return undefined;
  const view = ownView(source, env);
  return {
    ways: async (url: URL) => (await view).ways(url),
    failed: (proxy: ProxyServer) => void view.then((known) => known.failed(proxy)),
  };
}

/** Returns what environment and system say at present about proxies. */
export async function systemProxyState(env: Environment): Promise<SystemProxyState> {
  const named = environmentServers(env);
  if (named.length > 0) return environmentState(named);
  const source = settingsSource(env, process.platform);
  if (source === undefined) return { source: 'none', way: 'direct', servers: [] };
  return (await ownView(source, env)).state();
}

function environmentState(named: readonly string[]): SystemProxyState {
  const source = 'environment';
  try {
    const servers = named.map((text) => formatProxy(parseProxy(text, 'http_proxy')));
    return { source, way: 'servers', servers };
  } catch (error) {
    return { source, way: 'servers', servers: [], problem: (error as Error).message };
  }
}

/** Loaded when it is needed: a server has no such settings. */
function ownView(
  source: ConstructorParameters<typeof SystemProxy>[0]['source'],
  env: Environment,
): Promise<SystemProxy> {
  own ??= import('./system-proxy.ts').then(({ SystemProxy }) => new SystemProxy({ env, source }));
  return own;
}
