/** Log-ins for basic authentication (RFC 7617), from options, URLs or a netrc file. */

import { MillraceError } from '@millrace/shared/base/errors';
import { isFetchable } from '@millrace/shared/download/request/source-kinds';

export interface Login {
  readonly user: string;
  readonly password: string;
}

const MAX_LOGIN_CHARS = 4096;

/**
 * Returns the value of Authorization.
 *
 * @throws MillraceError `bad-option` for text that cannot be sent; the error shows neither user
 *   name nor password
 */
export function basicAuthorization(login: Login): string {
  const { user, password } = login;
  if (user.length + password.length > MAX_LOGIN_CHARS) {
    throw new MillraceError('bad-option', { code: 'login-too-long' });
  }
  if (user.includes(':') || /[\x00-\x1f\x7f]/.test(user + password)) {
    throw new MillraceError('bad-option', { code: 'login-forbidden' });
  }
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/**
 * Removes user name, password and fragment from a URL, which can then be stored, shown and logged.
 *
 * @throws MillraceError `bad-url`, which does not show the URL if it has a password
 */
export function takeLogin(text: string): { url: string; login: Login | undefined } {
  const url = fetchableUrl(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  url.hash = '';
  if (username === '' && password === '') return { url: url.href, login: undefined };
  try {
    const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return { url: url.href, login };
  } catch {
    throw new MillraceError('bad-url', { code: 'user-half-encoded', values: { url: url.href } });
  }
}

function fetchableUrl(text: string): URL {
  try {
    const url = new URL(text);
    if (isFetchable(url.href)) return url;
  } catch {
    // Reported below.
  }
  throw new MillraceError('bad-url', afterAt(text));
}

/** Makes a URL that a user typed, valid or not, safe to show. */
export function withoutLogin(text: string): string {
  try {
    return takeLogin(text).url;
  } catch {
    return afterAt(text);
  }
}

/** Cuts everything before an @: it may be a password even if the rest is wrong. */
function afterAt(text: string): string {
  return text.slice(text.lastIndexOf('@') + 1);
}
