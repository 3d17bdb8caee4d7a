/** Runs a command that the user has set up, after a download. */

import { once } from 'node:events';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { type Particulars, said } from '@millrace/shared/base/error-table/particulars';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_DETAIL_CHARS } from '@millrace/shared/download/after/after';
import {
  type AfterCommand,
  type CommandValues,
  filledArgs,
  plainEnvironment,
} from '@millrace/shared/download/after/command';
import { endApart, OutputEnd, startApart } from './programs.ts';

/** End of the output that is kept, in bytes, which leaves room for the exit status. */
const OUTPUT_BYTES = MAX_DETAIL_CHARS - 100;
/** Wait for the rest of the output of a command that has ended, in milliseconds: its children may hold it open. */
const OUTPUT_MS = 1000;

export interface CommandResult {
  readonly ok: boolean;
  /** Exit status, and the end of the output. */
  readonly detail: string;
  /** The exit status as data, where there is no output. */
  readonly particulars?: Particulars;
}

/**
 * Runs a command until it ends, its time is over or the signal aborts; then it is killed.
 *
 * @throws MillraceError `interrupted`
 */
export async function runCommand(
  { args, seconds }: AfterCommand,
  values: CommandValues,
  signal: AbortSignal,
): Promise<CommandResult> {
  return runIn(dirname(values.path), filledArgs(args, values), seconds, signal);
}

async function runIn(
  folder: string,
  args: readonly string[],
  seconds: number,
  signal: AbortSignal,
): Promise<CommandResult> {
  const child = startApart(args, folder, plainEnvironment(process.env));
  const output = new OutputEnd(OUTPUT_BYTES);
  child.stdout?.on('data', (piece: Buffer) => output.add(piece));
  child.stderr?.on('data', (piece: Buffer) => output.add(piece));
  const closed = once(child, 'close').catch(() => {});
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    endApart(child);
  }, seconds * 1000);
  const abort = () => endApart(child);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const [status, killed] = (await once(child, 'exit')) as [number | null, string | null];
    await Promise.race([closed, rest()]);
    if (signal.aborted) throw new MillraceError('interrupted');
    const end = late
      ? said({ code: 'ended-after', values: { seconds } })
      : said({ code: 'exit-was', values: { status: status ?? killed ?? '' } });
    const ok = status === 0 && !late;
    if (!ok && output.text === '') return { ok, ...end };
    return { ok, detail: [ok ? '' : end.detail, output.text].filter(Boolean).join('\n') };
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const { code = 'failed' } = error as NodeJS.ErrnoException;
    const values = { program: args[0] ?? '', os: code };
    return { ok: false, ...said({ code: 'not-startable', values }) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, OUTPUT_MS).unref());
}

/** Longest time that a program of the system may take to begin sleep or shutdown, in seconds. */
const POWER_SECONDS = 60;

/** Runs a program of the system. @returns why it did not do its work; undefined if it did */
export async function powerProblem(args: readonly string[]): Promise<string | undefined> {
  const { signal } = new AbortController();
  const { ok, detail } = await runIn(homedir(), args, POWER_SECONDS, signal);
  return ok ? undefined : detail;
}
