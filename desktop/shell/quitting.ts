/** Controls how the app quits: asks if downloads would stop, and ends the daemon in time. */

import { app, dialog, powerMonitor } from 'electron';
import { QUIT_ANSWERS, type QuitQuestion } from './logic/quit-question.ts';

export interface QuittingOptions {
  /** Returns the question to ask; undefined: quit without asking. */
  question(forced: boolean): QuitQuestion | undefined;
  /** Closes the window and lets everything else continue. */
  toBackground(): void;
  /** Ends the parts that have to end before the app does. */
  finish(): Promise<void>;
}

/** Takes over how the app quits. */
export function watchQuitting({ question, toBackground, finish }: QuittingOptions): void {
  let stage: 'none' | 'asking' | 'finishing' | 'done' = 'none';
  let forced = false;

  const ask = async () => {
    const asked = question(forced);
    if (asked !== undefined) {
      const { message, detail, buttons } = asked;
      const { response } = await dialog.showMessageBox({
        type: 'question',
        message,
        detail,
        buttons: [...buttons],
        defaultId: QUIT_ANSWERS.indexOf('background'),
        cancelId: QUIT_ANSWERS.indexOf('cancel'),
        noLink: true,
      });
      const answer = QUIT_ANSWERS[response] ?? 'cancel';
      if (answer === 'background') toBackground();
      if (answer !== 'quit') return;
    }
    stage = 'finishing';
    await finish().catch((error) => process.stderr.write(`${error}\n`));
    stage = 'done';
    app.quit();
  };

  powerMonitor.on('shutdown', () => {
    forced = true;
    app.quit();
  });
  app.on('before-quit', (event) => {
    if (stage === 'done') return;
    event.preventDefault();
    // Already asking or finishing: the question is not put twice.
    if (stage !== 'none') return;
    stage = 'asking';
    void ask().finally(() => {
      if (stage === 'asking') stage = 'none';
    });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Chromium has replaced Node's handler by its own. Chromium's handler asks as if the user had
    // quit, and only once: a second signal ends the app and leaves its daemon behind. Node restores
    // its own handler for the first listener only.
    process.removeAllListeners(signal);
    process.on(signal, () => {
      forced = true;
      app.quit();
    });
  }
}
