/** Starts the interface. */

import '@fontsource-variable/inter';
import '@millrace/shared/style/tokens.css';
import '@millrace/shared/style/base.css';
import '@millrace/shared/style/controls.css';
import '@millrace/shared/style/states.css';
import '@millrace/shared/style/toasts.css';
import './style/layout.css';
import './style/shares.css';
import './style/side-bar.css';
import './style/tool-bar.css';
import './style/states.css';
import './style/overlays.css';
import './style/trash.css';
import './style/list.css';
import './style/list-states.css';
import './style/details.css';
import './style/details-pages.css';
import './style/graph.css';
import './style/dialog.css';
import './style/settings.css';
import './style/schedule.css';
import './style/welcome.css';
import './style/mini.css';

import { codeInFragment, offeredInFragment } from '@millrace/shared/bridge/page/session-api';
import { showWholeTexts } from '@millrace/shared/ui/whole-texts';
import { createRoot } from 'react-dom/client';
import { hasSession, logInByCode, type SessionAnswer } from './api/session.ts';
import { Actions } from './model/actions.ts';
import { App } from './model/app.ts';
import { WIDE_WINDOW_PX } from './model/app-state.ts';
import { Provider } from './view/common/context.tsx';
import { applyKeptTheme } from './view/common/theme.ts';
import { Root } from './view/frame/root.tsx';

/** Longest text that is taken from another app. */
const MAX_SHARED_CHARS = 16_384;

/** Logs in with the code of a log-in link. @returns undefined if the URL has none */
async function enter(): Promise<SessionAnswer | undefined> {
  const code = codeInFragment(location.hash);
  if (code === undefined) return undefined;
  history.replaceState(null, '', location.pathname);
  return logInByCode(code);
}

/**
 * Opens the dialog with what another app on a phone has shared (Web Share Target). Any site can lead
 * here with such a query, so nothing is added before the user says so.
 */
function takeShared(app: App): void {
  const shared = new URLSearchParams(location.search);
  const text = ['url', 'text', 'title'].flatMap((name) => shared.get(name) ?? []).join('\n');
  if (text === '') return;
  history.replaceState(null, '', location.pathname + location.hash);
  app.store.set({
    dialog: { kind: 'add', text: text.slice(0, MAX_SHARED_CHARS), metalinks: [], offered: true },
  });
}

async function start(): Promise<void> {
  applyKeptTheme();
  showWholeTexts(document);
  const app = new App();
  // Details open beside the list only where there is room for both.
  app.store.set({ panelOpen: window.innerWidth >= WIDE_WINDOW_PX });
  takeShared(app);
  const offered = offeredInFragment(location.hash);
  const given = await enter();
  const answer = given === 'good' ? given : await hasSession();
  if (answer === 'refused') app.store.set({ link: { kind: 'logged-out' } });
  else app.connection.connect();
  // Only whoever holds a valid code may open a dialog here: other pages can link to this one.
  const isOwn = given === 'good' && offered.length > 0;
  if (isOwn) {
    app.store.set({
      dialog: { kind: 'add', text: offered.join('\n'), metalinks: [], offered: true },
    });
  }
  createRoot(document.getElementById('app') as HTMLElement).render(
    <Provider shared={{ app, actions: new Actions(app) }}>
      <Root answer={given} />
    </Provider>,
  );
}

void start();
