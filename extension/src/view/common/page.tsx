/** Starts a page: its texts, its theme, its link to the background. */

import '@fontsource-variable/inter';
import '@millrace/shared/style/tokens.css';
import '@millrace/shared/style/base.css';
import '@millrace/shared/style/controls.css';
import '@millrace/shared/style/states.css';
import { showWholeTexts } from '@millrace/shared/ui/whole-texts';
import '../style/page.css';

import type { ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { api } from '../../browser/api.ts';
import { type Text, textFor } from '../../text/text.ts';
import { type Background, backgroundOf } from './background.ts';
import { Provider } from './context.tsx';
import { applyKeptTheme, setTheme } from './theme.ts';

type Runtime = Parameters<typeof backgroundOf>[0];

export interface Page {
  readonly background: Background;
  readonly text: Text;
  show(content: ReactNode): void;
}

/** Opens a page. @param runtime the browser's API for messages to the background */
export function openPage(runtime: Runtime = api.runtime): Page {
  showWholeTexts(document);
  applyKeptTheme();
  const text = textFor(navigator.languages);
  document.documentElement.lang = text.language;
  document.documentElement.dir = text.direction;
  const background = backgroundOf(runtime);
  return {
    background,
    text,
    show: (content) => {
      const root = createRoot(document.getElementById('app') as HTMLElement);
      root.render(<Provider shared={{ background, text }}>{content}</Provider>);
    },
  };
}

/** Applies the theme of the settings. Until they arrive, the last known theme stays. */
export async function followTheme({ background }: Page): Promise<void> {
  // The page itself reports a missing answer.
  const settings = await background.ask({ type: 'get-settings' }).catch(() => undefined);
  if (settings !== undefined) setTheme(settings.theme);
}
