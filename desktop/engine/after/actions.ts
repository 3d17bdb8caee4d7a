/** Carries out single actions after a download. */

import { basename, dirname, resolve } from 'node:path';
import { type Particulars, said } from '@millrace/shared/base/error-table/particulars';
import { asMillraceError } from '@millrace/shared/base/errors';
import type { AfterState, AfterStep } from '@millrace/shared/download/after/after';
import type { CommandValues } from '@millrace/shared/download/after/command';
import { isRunWhenOpened } from '@millrace/shared/download/after/opening';
import { browserCommand, openProblem } from '../../local/browser.ts';
import { withoutLogin } from '../net/credentials.ts';
import type { AfterSettings } from '../settings/after-settings.ts';
import type { DownloadRecord } from '../store/record.ts';
import { extract } from './extract.ts';
import { movedBefore, moveFile } from './move-file.ts';
import { runCommand } from './run-command.ts';
import { sendWebhook } from './send-webhook.ts';

export interface ActionContext {
  /** The download, complete, with its steps. */
  readonly record: DownloadRecord;
  readonly settings: AfterSettings;
  /** Download folder. */
  readonly dir: string;
  /** Unix milliseconds. */
  readonly now: number;
  readonly signal: AbortSignal;
}

export interface ActionResult {
  /** `again`: only of a webhook, which may be sent again. */
  readonly state: AfterState | 'again';
  readonly detail?: string;
  /** The same as data; absent for words of other programs, and for paths. */
  readonly particulars?: Particulars | undefined;
  /** Code of an error. */
  readonly error?: string;
  /** New path of the file. */
  readonly path?: string;
}

/** Carries out a step. Rejects only if the signal aborts. */
export async function carryOut(step: AfterStep, context: ActionContext): Promise<ActionResult> {
  const { path } = context.record;
  if (path === undefined) return { state: 'failed', ...said({ code: 'no-place' }) };
  try {
    return await ACTIONS[step.action](step, path, context);
  } catch (thrown) {
    if (context.signal.aborted) throw thrown;
    const { code, message, particulars } = asMillraceError(thrown);
    return { state: 'failed', detail: message, particulars, error: code };
  }
}

const ACTIONS: Readonly<
  Record<
    AfterStep['action'],
    (step: AfterStep, path: string, context: ActionContext) => Promise<ActionResult>
  >
> = {
  async move(step, path, { record, dir, signal }) {
    const folder = resolve(dir, step.with ?? '');
    const isAgain = (step.attempts ?? 0) > 0;
    const moved = isAgain ? await movedBefore(path, folder, record, signal) : undefined;
    const to = moved ?? (await moveFile(path, folder, signal));
    return { state: 'done', detail: to, path: to };
  },
  async extract(_, path, { record, signal }) {
    const extracted = await extract(path, record.gid, signal);
    if (extracted === undefined) return { state: 'skipped', ...said({ code: 'no-archive' }) };
    return { state: 'done', detail: extracted };
  },
  async run(step, path, { record, settings, signal }) {
    const command = settings.commands.find(({ name }) => name === step.with);
    if (command === undefined) {
      const values = { name: step.with ?? '' };
      return { state: 'failed', ...said({ code: 'no-command', values }) };
    }
    const { ok, ...why } = await runCommand(command, valuesOf(record, path), signal);
    return { state: ok ? 'done' : 'failed', ...why };
  },
  async open(_, path) {
    if (isRunWhenOpened(basename(path))) {
      return { state: 'skipped', ...said({ code: 'might-run' }) };
    }
    const words = browserCommand(process.platform, process.env);
    if (words === undefined) return { state: 'failed', ...said({ code: 'no-screen' }) };
    const problem = await openProblem([...words, path]);
    return problem === undefined ? { state: 'done' } : { state: 'failed', detail: problem };
  },
  async webhook(_, path, { record, settings, now, signal }) {
    if (settings.webhook === undefined) {
      return { state: 'failed', ...said({ code: 'no-webhook' }) };
    }
    const message = { id: `msg_${record.gid}_${record.finishedAt}`, body: bodyOf(record, path) };
    const { kind, ...why } = await sendWebhook(settings.webhook, message, now, signal);
    signal.throwIfAborted();
    return { state: kind, ...why };
  },
};

function valuesOf({ request, digest }: DownloadRecord, path: string): CommandValues {
  return {
    path,
    name: basename(path),
    folder: dirname(path),
    url: withoutLogin(request.urls[0] as string),
    digest: digest === undefined ? '' : `${digest.algorithm}:${digest.hex}`,
  };
}

/** Returns the message, which is the same in each attempt. */
function bodyOf(record: DownloadRecord, path: string): string {
  const { gid, length, finishedAt = 0, category, after = [] } = record;
  const { name, url, digest } = valuesOf(record, path);
  const actions = after
    .filter(({ action }) => action !== 'webhook')
    .map(({ action, state }) => ({ action, state }));
  const data = { gid, name, path, url, length, digest, category, actions };
  return JSON.stringify({
    type: 'download.completed',
    timestamp: new Date(finishedAt).toISOString(),
    data,
  });
}
