/** Decides what an edge announces on its link, from its settings and the port it listens on. */

import { isIP } from 'node:net';
import { VERSION } from '@millrace/shared/base/version';
import type { Announcement } from '@millrace/shared/house/announcement';
import { networkOf } from '@millrace/shared/http/urls/public-address';

/** The settings that matter. */
interface Settings {
  readonly announce: 'yes' | 'no';
  readonly host: string;
  readonly tlsCert: string | undefined;
  readonly httpPort: number | undefined;
  readonly httpAnswers: 'serve' | 'redirect';
  readonly publicUrl: string | undefined;
  readonly localTokenFile: string | undefined;
}

/** Returns true if the edge listens on all IPv4 addresses of its machine. */
export function listensEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * Checks that neighbours could use what the edge would announce.
 *
 * @param stop called with what is wrong and what to do
 */
export function checkAnnounce(config: Settings, stop: (message: string) => never): void {
  if (config.announce === 'no') return;
  const { host, localTokenFile } = config;
  const isNear = host === 'localhost' || (isIP(host) !== 0 && networkOf(host) === 'loopback');
  if (localTokenFile !== undefined || (isNear && !listensEverywhere(host))) {
    stop(
      `--announce yes has nothing to announce: only this machine reaches an edge at ${host}. ` +
        'Listen on an address of the local network as well, as with --host 0.0.0.0',
    );
  }
  if (isIP(host) === 6 && !listensEverywhere(host)) {
    stop('--announce yes needs an IPv4 address to listen on: give --host 0.0.0.0 or ::');
  }
  if (announcedPort(config) === undefined) {
    stop(
      '--announce yes: neighbours could not check the certificate. Give --public-url with the https ' +
        'address whose name the certificate has, or a port without TLS (--http-port)',
    );
  }
}

/** Chooses the port to announce: that with TLS if a name for its certificate is known. */
function announcedPort(config: Settings): 'tls' | 'plain' | undefined {
  const { tlsCert, httpPort, httpAnswers, publicUrl } = config;
  if (tlsCert === undefined) return 'plain';
  if (publicUrl?.startsWith('https:')) return 'tls';
  return httpPort !== undefined && httpAnswers === 'serve' ? 'plain' : undefined;
}

/**
 * Returns what to announce.
 *
 * @param urls addresses at which the edge listens
 * @returns undefined: the settings or the addresses have nothing to announce
 */
export function announcementOf(
  config: Settings & { readonly name: string },
  urls: readonly string[],
): Announcement | undefined {
  if (config.announce === 'no') return undefined;
  const isTls = announcedPort(config) === 'tls';
  const all = urls.map((url) => new URL(url));
  const own = all.find(({ protocol }) => protocol === (isTls ? 'https:' : 'http:'));
  if (own === undefined) return undefined;
  return {
    port: own.port === '' ? (isTls ? 443 : 80) : Number(own.port),
    name: config.name,
    version: VERSION,
    tlsUrl: isTls ? config.publicUrl : undefined,
  };
}
