/** Reads what a host has done, from the output and the end of its shell. */

import { BOOTSTRAP_EXIT } from './bootstrap.ts';

/** Numbers of files, from the last line of the script. */
export interface PushCounts {
  readonly unchanged: number;
  readonly fetched: number;
  readonly failed: number;
}

/** The end of the work on a host. */
export interface PushOutcome {
  readonly done: boolean;
  /** Exit status of the program that reached the host; undefined if a signal or we ended it. */
  readonly status: number | undefined;
  readonly counts: PushCounts | undefined;
  /** Why the host is not done, a clause or two; empty if it is done. */
  readonly why: string;
}

/** Number of last lines of a host's messages that are shown. */
const LINES_SHOWN = 3;
const MAX_LINE_CHARS = 300;
/** Exit status of ssh if it could not reach the host, or lost it. */
const SSH_FAILED = 255;

const REASONS: Readonly<Record<number, string>> = {
  [BOOTSTRAP_EXIT.program]: 'a program is missing there',
  [BOOTSTRAP_EXIT.fetch]: 'the script could not be fetched there',
  [BOOTSTRAP_EXIT.digest]: 'the script has a wrong digest there, and was not run',
  [BOOTSTRAP_EXIT.folder]: 'a folder cannot be written there',
  126: 'no shell can be run there',
  127: 'there is no POSIX shell there',
  [SSH_FAILED]: 'the host cannot be reached, or was lost',
};

/** Returns the words of a line of progress: how many of the files a host has looked at. */
export function readProgress(line: string): { files: number; of: number } | undefined {
  const [, files, of] = /^progress (\d{1,9}) (\d{1,9})$/.exec(line) ?? [];
  return files === undefined || of === undefined ? undefined : { files: +files, of: +of };
}

/** Returns the counts in the last line of the script; undefined for any other line. */
export function readCounts(line: string): PushCounts | undefined {
  const found = /^(\d{1,9}) unchanged, (\d{1,9}) fetched, (\d{1,9}) failed$/.exec(line);
  if (found === null) return undefined;
  const [unchanged, fetched, failed] = found.slice(1).map(Number) as [number, number, number];
  return { unchanged, fetched, failed };
}

/**
 * Decides whether a host is done. A status of 0 alone is not enough: a program in place of ssh, or a
 * log-in shell that ignores its command, may end with it without any work.
 *
 * @param status of the shell; undefined if a signal ended it
 * @param messages the last lines of standard error
 */
export function outcomeOf(
  status: number | undefined,
  counts: PushCounts | undefined,
  messages: readonly string[],
): PushOutcome {
  if (status === 0 && counts?.failed === 0) return { done: true, status, counts, why: '' };
  const said = messages
    .map((line) => line.trim().slice(0, MAX_LINE_CHARS))
    .filter((line) => line !== '')
    .slice(-LINES_SHOWN);
  return { done: false, status, counts, why: [reason(status, counts), ...said].join('; ') };
}

function reason(status: number | undefined, counts: PushCounts | undefined): string {
  if (counts !== undefined && counts.failed > 0) {
    return counts.failed === 1 ? '1 file failed' : `${counts.failed} files failed`;
  }
  if (status === undefined) return 'its shell was ended';
  if (status === 0) return 'its shell ended without running the script';
  return REASONS[status] ?? `exit status ${status}`;
}
