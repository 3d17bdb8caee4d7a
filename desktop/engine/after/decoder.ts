/** The output of a program that decodes an archive. */

import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import { MillraceError } from '@millrace/shared/base/errors';
import { plainEnvironment } from '@millrace/shared/download/after/command';
import { endApart, OutputEnd, startApart } from './programs.ts';

/** Bytes of a decoder's messages that are kept. */
const MESSAGE_BYTES = 500;

/**
 * Returns what the program writes to standard output. The stream fails with `bad-archive` at its end
 * unless the program says that all went well, so that no part of a damaged archive is taken for all of
 * it. Destroying the stream ends the program.
 *
 * @param command program and arguments
 */
export function decoded(command: readonly string[], signal: AbortSignal): Readable {
  return Readable.from(output(command, signal), { objectMode: false });
}

async function* output(command: readonly string[], signal: AbortSignal): AsyncGenerator<Buffer> {
  const env = { ...plainEnvironment(process.env), LC_CTYPE: 'C.UTF-8' };
  const child = startApart(command, tmpdir(), env);
  const messages = new OutputEnd(MESSAGE_BYTES);
  child.stderr?.on('data', (piece: Buffer) => messages.add(piece));
  const ended = once(child, 'close').then(
    ([status]) => status as number | null,
    (error: Error) => error,
  );
  const abort = () => endApart(child);
  signal.addEventListener('abort', abort, { once: true });
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const status = await ended;
    if (signal.aborted) throw new MillraceError('interrupted');
    if (status === 0) return;
    const why = status instanceof Error ? status.message : messages.text || `exit status ${status}`;
    throw new MillraceError('bad-archive', why);
  } finally {
    signal.removeEventListener('abort', abort);
    endApart(child);
  }
}
