/** Runs a resolver: a program of the user that gets a URL and prints an answer. */

import { once } from 'node:events';
import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Detail } from '@millrace/shared/base/error-table/particulars';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Resolver } from '@millrace/shared/bridge/rpc/settings-api';
import { resolverEnvironment } from '@millrace/shared/download/resolve/resolved';
import { endGroup, findProgram, OutputEnd, startApart } from '../after/programs.ts';
import { printableWords } from './answers.ts';

/** Longest output, in bytes. yt-dlp describes each of hundreds of formats. */
const MAX_OUTPUT_BYTES = { answer: 2 ** 20, 'yt-dlp': 16 * 2 ** 20 } as const;
/** End of the messages that are kept, in bytes. */
const MESSAGE_BYTES = 1000;

/**
 * Arguments for yt-dlp, after the user's own. It reads no settings, which could let it download or
 * print something else; it follows no list of videos; the link is read from standard input, where no
 * other process of the machine can see it.
 */
const YT_DLP_ARGS = [
  '--ignore-config',
  '--dump-single-json',
  '--no-playlist',
  '--flat-playlist',
  '--no-warnings',
  '--batch-file',
  '-',
];

/**
 * Runs a resolver until it ends, its time is over or the signal aborts; then it is killed with all
 * processes that it has started.
 *
 * @returns its output
 * @throws MillraceError `resolver-failed`, `interrupted`
 */
export async function runResolver(
  { name, args, seconds, prints }: Resolver,
  url: string,
  signal: AbortSignal,
): Promise<string> {
  if (signal.aborted) throw new MillraceError('interrupted');
  const failed = (why: Detail) =>
    new MillraceError('resolver-failed', { code: 'at', values: { place: name, why } });
  const [given = '', ...own] = args;
  const program = isAbsolute(given) ? given : await findProgram([given]);
  if (program === undefined)
    throw failed({ code: 'resolver-not-found', values: { program: given } });
  const all = [program, ...own, ...(prints === 'yt-dlp' ? YT_DLP_ARGS : [])];
  // The home folder: some programs take settings from the current one, where strangers may have put them.
  const child = startApart(all, homedir(), resolverEnvironment(process.env), 'pipe');
  const messages = new OutputEnd(MESSAGE_BYTES);
  const pieces: Buffer[] = [];
  let bytes = 0;
  let ended: 'late' | 'long' | undefined;
  const end = (why?: typeof ended) => {
    ended ??= why;
    endGroup(child);
    // A process that has left the group may hold the output open.
    child.stdout?.destroy();
    child.stderr?.destroy();
  };
  child.stdout?.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > MAX_OUTPUT_BYTES[prints]) return end('long');
    pieces.push(piece);
  });
  child.stderr?.on('data', (piece: Buffer) => messages.add(piece));
  // Processes that it leaves behind would keep its output open.
  child.once('exit', () => endGroup(child));
  const closed = once(child, 'close');
  const timer = setTimeout(() => end('late'), seconds * 1000);
  const abort = () => end();
  signal.addEventListener('abort', abort, { once: true });
  try {
    // A program that does not read its input may end before it was written.
    child.stdin?.on('error', () => {});
    child.stdin?.end(`${url}\n`);
    const [status, killed] = (await closed) as [number | null, string | null];
    if (signal.aborted) throw new MillraceError('interrupted');
    if (ended === 'late') throw failed({ code: 'resolver-late', values: { seconds } });
    if (ended === 'long') {
      throw failed({ code: 'resolver-too-long', values: { mostBytes: MAX_OUTPUT_BYTES[prints] } });
    }
    const last = printableWords(messages.text.split('\n').at(-1) ?? '');
    if (status === 0) return Buffer.concat(pieces).toString();
    if (last !== '') throw failed({ code: 'quoted', values: { text: last } });
    throw failed({ code: 'resolver-status', values: { status: status ?? killed ?? '' } });
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const os = (error as NodeJS.ErrnoException).code ?? 'failed';
    throw failed({ code: 'resolver-not-started', values: { os } });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    endGroup(child);
  }
}
