/** Removes the parts of a download that log a user in: they are for its origin alone. */

import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { takeLogin } from '../net/credentials.ts';

const SECRET_FIELDS: readonly string[] = ['authorization', 'cookie', 'proxy-authorization'];
const SECRET_OPTIONS: readonly string[] = ['http-passwd', 'all-proxy-passwd'];
const PROXY_OPTIONS: readonly string[] = ['all-proxy', 'http-proxy', 'https-proxy'];

/** Returns the request without log-ins, which only its own origin may have. */
export function withoutLogins(request: DownloadRequest): DownloadRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !SECRET_FIELDS.includes(name)),
  );
  return { ...request, headers, login: undefined };
}

/**
 * Returns the request without any secret: no log-ins, no proxy that has a password, and no key of an
 * encrypted file.
 */
export function withoutSecrets(request: DownloadRequest): DownloadRequest {
  const { proxy, exnode } = request;
  return {
    ...withoutLogins(request),
    proxy: /@/.test(proxy ?? '') ? undefined : proxy,
    exnode: exnode && { root: exnode.root, text: exnode.text },
  };
}

/** Returns aria2's options without passwords, for display. Header fields stay as they are. */
export function shownOptions(options: Readonly<Record<string, string>>): Record<string, string> {
  const shown = Object.entries(options).filter(([name]) => !SECRET_OPTIONS.includes(name));
  return Object.fromEntries(
    shown.map(([name, value]) => [name, PROXY_OPTIONS.includes(name) ? shownProxy(value) : value]),
  );
}

function shownProxy(value: string): string {
  if (!value.includes('@')) return value;
  try {
    return takeLogin(value.includes('://') ? value : `http://${value}`).url;
  } catch {
    return value.slice(value.lastIndexOf('@') + 1);
  }
}
