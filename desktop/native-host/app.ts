/** Opens the app: its window where the app has recorded how to start it, otherwise its page. */

import { pathToFileURL } from 'node:url';
import { MillraceError } from '@millrace/shared/base/errors';
import { openInBrowser, startProgram } from '../local/browser.ts';
import type { EngineLink } from './engine-link.ts';

/** Variable with the app's program and arguments, as JSON; the host's launcher sets it. */
export const APP_VARIABLE = 'MILLRACE_APP';

/** Opens the app. @throws MillraceError where there is no screen to show it on */
export async function openApp(
  engine: Pick<EngineLink, 'call'>,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const words = appCommand(env[APP_VARIABLE]);
  const { ELECTRON_RUN_AS_NODE: _, ...rest } = env;
  // A second start of the app shows the window of the first.
  if (words !== undefined && (await startProgram(words, rest))) return;
  const { path } = await engine.call('millrace.loginPage', {}, true);
  if (await openInBrowser(pathToFileURL(path).href)) return;
  throw new MillraceError('wrong-state', 'there is no screen to show it on');
}

function appCommand(text: string | undefined): readonly string[] | undefined {
  try {
    const words: unknown = JSON.parse(text ?? '');
    const all = Array.isArray(words) && words.length > 0;
    return all && words.every((word) => typeof word === 'string') ? words : undefined;
  } catch {
    return undefined;
  }
}
