/** Opens the mini view: above all windows where the browser or the app can do that, else in a small window. */

import { MINI_PATH } from '@millrace/shared/bridge/page/mini-path';
import { createRoot } from 'react-dom/client';
import { Provider, type Shared } from '../common/context.tsx';
import { Mini } from './mini.tsx';

/** Size of the window, pixels. */
const SIZE = { width: 320, height: 150 };
/** The app's window opens a window of its own for this page, which keeps its place. */
const isInApp = /\bElectron\//.test(navigator.userAgent);

/** Document Picture-in-Picture, which Chromium has from version 116 on. */
interface PictureInPicture {
  readonly window: Window | null;
  requestWindow(size: typeof SIZE): Promise<Window>;
}

/** Opens the mini view; to be called while the user clicks. */
export async function openMini(shared: Shared): Promise<void> {
  const { documentPictureInPicture: above } = window as {
    documentPictureInPicture?: PictureInPicture;
  };
  const opened = isInApp ? undefined : await above?.requestWindow(SIZE).catch(() => undefined);
  if (opened === undefined) {
    window.open(MINI_PATH, 'millrace-mini', `popup,width=${SIZE.width},height=${SIZE.height}`);
    return;
  }
  const { documentElement: page, head, body } = opened.document;
  for (const style of document.querySelectorAll('link[rel="stylesheet"], style')) {
    head.append(style.cloneNode(true));
  }
  const { documentElement: own } = document;
  for (const { name, value } of [...own.attributes]) page.setAttribute(name, value);
  opened.document.title = document.title;
  const frame = opened.document.createElement('div');
  frame.id = 'app';
  body.append(frame);
  const root = createRoot(frame);
  root.render(
    <Provider shared={shared}>
      <Mini />
    </Provider>,
  );
  opened.addEventListener('pagehide', () => root.unmount());
}
