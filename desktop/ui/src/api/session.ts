/** Logs in and out. Only the browser can see the page's cookie, so the page asks the daemon. */

import { SESSION_PATH, type SessionRequest } from '@millrace/shared/bridge/page/session-api';

export type SessionAnswer = 'good' | 'refused' | 'slow' | 'offline';

async function ask(init: RequestInit): Promise<SessionAnswer> {
  try {
    const { status } = await fetch(SESSION_PATH, { ...init, credentials: 'same-origin' });
    if (status === 204) return 'good';
    return status === 429 ? 'slow' : 'refused';
  } catch {
    return 'offline';
  }
}

export const hasSession = () => ask({ method: 'GET' });

export const logOut = () => ask({ method: 'DELETE' });

export const logIn = (request: SessionRequest) =>
  ask({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
