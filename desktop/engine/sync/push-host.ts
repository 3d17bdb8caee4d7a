/** Runs the bootstrap script of `sync push` on one host. */

import { spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  outcomeOf,
  type PushCounts,
  type PushOutcome,
  readCounts,
  readProgress,
} from '@millrace/shared/sync/push-outcome';

export interface PushHostOptions {
  /** Program that reaches hosts, and its arguments; the host and `sh -s` follow. */
  readonly command: readonly string[];
  readonly host: string;
  /** The bootstrap script. */
  readonly script: string;
  /** Its abort ends the program, and with it the work on the host. */
  readonly signal: AbortSignal;
  readonly onProgress: (stand: { readonly files: number; readonly of: number }) => void;
}

/** Longest line of a host that is read, and the most lines of its messages that are kept. */
const MAX_LINE_CHARS = 4096;
const MAX_MESSAGES = 10;
/** Time for the program to end by itself, ms. */
const END_MS = 2000;
/** Time for the last output after the program's end, ms: a child of it may keep the pipes. */
const OUTPUT_MS = 1000;

/**
 * Runs the script on the host, through the shell that the program starts there.
 *
 * @returns the outcome, also where the host cannot be reached
 * @throws MillraceError `bad-option` if the program cannot be started; `interrupted`
 */
export async function pushToHost(options: PushHostOptions): Promise<PushOutcome> {
  const { command, host, script, signal, onProgress } = options;
  if (signal.aborted) throw new MillraceError('interrupted');
  const [program = '', ...args] = command;
  // The text for the host's log-in shell is always the same: what others chose is in the script.
  const child = spawn(program, [...args, host, 'sh', '-s'], { stdio: 'pipe', windowsHide: true });
  let counts: PushCounts | undefined;
  const messages: string[] = [];
  eachLine(child.stdout, (line) => {
    const stand = readProgress(line);
    if (stand !== undefined) onProgress(stand);
    counts = readCounts(line) ?? counts;
  });
  eachLine(child.stderr, (line) => {
    messages.push(line);
    if (messages.length > MAX_MESSAGES) messages.shift();
  });
  // A program that has ended reads nothing more; its status says why.
  child.stdin.on('error', () => {});
  // The input stays open until the program ends: its end would stop the work on the host.
  child.stdin.write(script);
  const timers: NodeJS.Timeout[] = [];
  const end = () => {
    child.kill('SIGTERM');
    timers.push(setTimeout(() => child.kill('SIGKILL'), END_MS));
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      child.once('error', (cause: NodeJS.ErrnoException) => {
        const detail = `${program} cannot be started (${cause.code})`;
        reject(new MillraceError('bad-option', detail, { cause }));
      });
      child.once('close', (code) => resolve(code ?? undefined));
      child.once('exit', (code) => {
        timers.push(setTimeout(() => resolve(code ?? undefined), OUTPUT_MS));
      });
    });
    if (signal.aborted) throw new MillraceError('interrupted');
    return outcomeOf(status, counts, messages);
  } finally {
    signal.removeEventListener('abort', end);
    for (const timer of timers) clearTimeout(timer);
    for (const stream of child.stdio) stream?.destroy();
  }
}

/** Calls back with each line; what is beyond the longest line is dropped. */
function eachLine(stream: NodeJS.ReadableStream, act: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (bytes: Buffer) => {
    const lines = (rest + decoder.write(bytes)).split('\n');
    rest = (lines.pop() as string).slice(0, MAX_LINE_CHARS);
    for (const line of lines) act(line.slice(0, MAX_LINE_CHARS));
  });
  stream.on('end', () => {
    if (rest !== '') act(rest);
  });
}
