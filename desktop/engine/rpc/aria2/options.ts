/** The meaning of aria2's options here. */

import { DIGEST_ALGORITHMS, type DigestAlgorithm } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Follow, FollowByKind } from '@millrace/shared/download/after/follow';
import { MAX_PER_HOST } from '@millrace/shared/download/transfer/host-limits';
import type { Change, NewDownload } from '../../downloads/download-schema.ts';
import { type Aria2Options, problem, sizeOf } from './option-table.ts';

/** Makes a new download from the daemon's options, overridden by the given ones. */
export function toNewDownload(
  options: Aria2Options,
  given: Aria2Options,
): Omit<NewDownload, 'urls'> {
  const all = { ...options, ...given };
  const { follow, ...change } = toChange(all);
  const isUsual = follow?.torrent === true && follow.metalink === true;
  return {
    ...change,
    ...(isUsual ? {} : { follow }),
    ...(given.gid === undefined ? {} : { gid: given.gid.toLowerCase() }),
    ...(all.pause === 'true' ? { paused: true } : {}),
    aria2: given,
  };
}

/** A change without those ways of taking a setting back that aria2 cannot express. */
type Aria2Change = Omit<
  Change,
  'limit' | 'login' | 'startAt' | 'category' | 'older' | 'after' | 'follow'
> &
  Pick<NewDownload, 'limit' | 'login'> & { follow?: FollowByKind };

/** Turns options into a change of a download. */
export function toChange(options: Aria2Options): Aria2Change {
  const change: Aria2Change = {};
  if (options.dir) change.dir = options.dir;
  if (options.out) change.file = options.out.replace(/^[/\\]+/, '');
  const headers = headersOf(options);
  if (headers !== undefined) change.headers = headers;
  const user = options['http-user'];
  if (user) change.login = { user, password: options['http-passwd'] ?? '' };
  const proxy = proxyOf(options);
  if (proxy !== undefined) change.proxy = proxy;
  if (options.checksum) change.digests = [digestOf(options.checksum)];
  if (options.split) change.connections = bounded(options.split);
  const perServer = options['max-connection-per-server'];
  if (perServer) change.connectionsPerHost = bounded(perServer);
  else if (options.split) change.connectionsPerHost = bounded(options.split);
  const limit = sizeOf(options['max-download-limit'] ?? '0');
  if (limit > 0) change.limit = limit;
  if (options['allow-overwrite']) change.overwrite = options['allow-overwrite'] === 'true';
  if (options['auto-file-renaming']) change.rename = options['auto-file-renaming'] === 'true';
  if (options['max-tries']) change.maxTries = Number(options['max-tries']);
  const timeout = Number(options.timeout ?? 0);
  if (timeout > 0) change.timeoutMs = Math.min(86_400, timeout) * 1000;
  const { 'follow-torrent': torrent, 'follow-metalink': metalink } = options;
  if (torrent !== undefined || metalink !== undefined) {
    change.follow = { torrent: followOf(torrent), metalink: followOf(metalink) };
  }
  return change;
}

function followOf(text: string | undefined): Follow {
  return text === 'mem' ? 'mem' : text !== 'false';
}

function bounded(text: string): number {
  return Math.min(MAX_PER_HOST, Math.max(1, Number(text)));
}

/** Makes the header fields; undefined if no option is about header fields. */
function headersOf(options: Aria2Options): Record<string, string> | undefined {
  const { header, referer } = options;
  const headers: Record<string, string> = {};
  if (options['http-no-cache'] === 'true') {
    headers['cache-control'] = 'no-cache';
    headers.pragma = 'no-cache';
  }
  for (const line of (header ?? '').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0)
      headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
    else if (line.trim() !== '') throw problem('header');
  }
  if (referer) headers.referer = referer;
  if (options['user-agent']) headers['user-agent'] = options['user-agent'];
  return Object.keys(headers).length === 0 ? undefined : headers;
}

function proxyOf(options: Aria2Options): string | undefined {
  const text = options['all-proxy'] || options['https-proxy'] || options['http-proxy'];
  if (text === undefined) return undefined;
  // In aria2 an empty value means no proxy, whatever the environment says.
  if (text === '') return 'direct';
  try {
    const url = new URL(text.includes('://') ? text : `http://${text}`);
    if (options['all-proxy-user']) url.username = options['all-proxy-user'];
    if (options['all-proxy-passwd']) url.password = options['all-proxy-passwd'];
    return url.href;
  } catch {
    throw problem('all-proxy');
  }
}

function digestOf(text: string): { algorithm: DigestAlgorithm; hex: string } {
  const [name = '', hex = ''] = text.toLowerCase().split('=');
  const algorithm = DIGEST_ALGORITHMS.find((known) => known === name.replace('-', ''));
  if (algorithm === undefined) throw problem('checksum');
  return { algorithm, hex };
}

/** Turns an error of ours into aria2's words, if aria2 has an option for it. */
export function translate(error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error;
  const option = /^(dir|file|headers|proxy|digests|connections)/.exec(error.detail)?.[1];
  const names: Readonly<Record<string, string>> = {
    file: 'out',
    headers: 'header',
    proxy: 'all-proxy',
    digests: 'checksum',
    connections: 'split',
    dir: 'dir',
  };
  return option === undefined ? error : problem(names[option] as string);
}
