/** Log-ins of basic authentication (RFC 7617): from options, from URLs, from a netrc file. */

import { MillraceError } from '@millrace/shared/base/errors';

export interface Login {
  readonly user: string;
  readonly password: string;
}

const MAX_LOGIN_CHARS = 4096;

/**
 * The value of Authorization.
 *
 * @throws MillraceError `bad-option` for text that cannot be sent; it shows neither part
 */
export function basicAuthorization(login: Login): string {
  const { user, password } = login;
  if (user.length + password.length > MAX_LOGIN_CHARS) {
    throw new MillraceError('bad-option', 'the user name or password is too long');
  }
  if (user.includes(':') || /[\x00-\x1f\x7f]/.test(user + password)) {
    throw new MillraceError('bad-option', 'the user name or password has forbidden characters');
  }
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/**
 * Takes user name, password and fragment out of a URL, which can then be stored, shown and logged.
 *
 * @throws MillraceError `bad-url`, which does not show the URL where it has a password
 */
export function takeLogin(text: string): { url: string; login: Login | undefined } {
  const url = httpUrl(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  url.hash = '';
  if (username === '' && password === '') return { url: url.href, login: undefined };
  try {
    const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return { url: url.href, login };
  } catch {
    throw new MillraceError('bad-url', `${url.href}: its user name is not well percent-encoded`);
  }
}

function httpUrl(text: string): URL {
  try {
    const url = new URL(text);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  } catch {
    // Reported below.
  }
  throw new MillraceError('bad-url', afterAt(text));
}

/** Makes a URL that a user has typed, right or wrong, fit to be shown. */
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
