/** Locks the window down: pages other than the daemon's get no access. */

import { app, type Session, shell, type WebContents } from 'electron';
import {
  CONTENT_SECURITY_POLICY,
  isMiniPage,
  isOwnPage,
  mayLoad,
  mayOpenOutside,
  maySave,
} from '../logic/page-policy.ts';

/**
 * Origin of the daemon's page, and `file:` URL of the shell's own pages, with a slash at its end.
 */
export interface PageSources {
  readonly origin: () => string | undefined;
  readonly own: string;
  /** Called when a page opens the mini view. */
  readonly onMini: () => void;
}

/** Protects all contents that will ever be made; must be called before the first window. */
export function protectContents(sources: PageSources): void {
  app.on('web-contents-created', (_event, contents) => protect(contents, sources));
}

/** Denies permissions and requests elsewhere, and gives every answer a content security policy. */
export function protectSession(
  session: Session,
  { origin, own }: Pick<PageSources, 'origin' | 'own'>,
): void {
  session.setPermissionRequestHandler((_contents, _permission, answer) => answer(false));
  session.setPermissionCheckHandler(() => false);
  session.webRequest.onBeforeRequest(({ url }, answer) =>
    answer({ cancel: !mayLoad(url, origin(), own) }),
  );
  session.webRequest.onHeadersReceived(({ responseHeaders = {} }, answer) => {
    const has = Object.keys(responseHeaders).some(
      (name) => name.toLowerCase() === 'content-security-policy',
    );
    const policy = { 'content-security-policy': [CONTENT_SECURITY_POLICY] };
    answer({ responseHeaders: has ? responseHeaders : { ...responseHeaders, ...policy } });
  });
  session.on('will-download', (event, item) => {
    if (!maySave(item.getURL(), origin())) event.preventDefault();
  });
}

function protect(contents: WebContents, { origin, own, onMini }: PageSources): void {
  const stay = (event: { preventDefault(): void }, url: string) => {
    if (!isOwnPage(url, origin(), own)) event.preventDefault();
  };
  const open = (url: string) => {
    if (isMiniPage(url, origin())) onMini();
    else openOutside(url);
  };
  contents.on('will-navigate', (event, url) => stay(event, url ?? event.url));
  contents.on('will-redirect', (event, url) => stay(event, url ?? event.url));
  contents.on('will-attach-webview', (event) => event.preventDefault());
  if (typeof contents.setWindowOpenHandler === 'function') {
    contents.setWindowOpenHandler(({ url }) => {
      open(url);
      return { action: 'deny' };
    });
  } else {
    // Electron before 12.
    (contents as NodeJS.EventEmitter).on('new-window', (event, url: string) => {
      event.preventDefault();
      open(url);
    });
  }
}

function openOutside(url: string): void {
  if (mayOpenOutside(url)) void shell.openExternal(url).catch(() => {});
}
