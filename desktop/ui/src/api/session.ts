/** Logs in and out. Only the browser can see the page's cookie, so the page asks the daemon. */

import { toHex } from '@millrace/shared/base/digest';
import {
  type AccountRequest,
  LOGIN_BY_ACCOUNT,
  LOGIN_FIELD,
  type SharedCodeRequest,
} from '@millrace/shared/bridge/page/remote-api';
import { SESSION_PATH, type SessionRequest } from '@millrace/shared/bridge/page/session-api';
import { retryDelay } from './retry-delay.ts';

export type SessionAnswer = 'good' | 'refused' | 'slow' | 'offline';

let byAccount = false;

/** Returns true if people log in here with an account, as the last answer of the daemon has said. */
export const isByAccount = () => byAccount;

async function ask(init: RequestInit): Promise<SessionAnswer> {
  try {
    const answer = await fetch(SESSION_PATH, { ...init, credentials: 'same-origin' });
    const { status, headers } = answer;
    byAccount = headers.get(LOGIN_FIELD) === LOGIN_BY_ACCOUNT;
    if (status === 204) return 'good';
    return status === 429 ? 'slow' : 'refused';
  } catch {
    return 'offline';
  }
}

export const hasSession = () => ask({ method: 'GET' });

export const logOut = () => ask({ method: 'DELETE' });

/** Times that a code is sent when no answer comes. */
const ATTEMPTS = 5;

/**
 * Logs in with the code of a log-in link. A browser ends its requests with an error when the network
 * changes, those to its own machine too, so the code is sent again when no answer comes.
 */
export async function logInByCode(code: string): Promise<SessionAnswer> {
  const page = toHex(crypto.getRandomValues(new Uint8Array(16)));
  for (let attempt = 0; ; attempt++) {
    const answer = await logIn({ code, page });
    if (answer !== 'offline' || attempt + 1 === ATTEMPTS) return answer;
    const delay = retryDelay(attempt, Math.random);
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}

export const logIn = (request: SessionRequest | AccountRequest | SharedCodeRequest) =>
  ask({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
