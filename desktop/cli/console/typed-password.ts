/** Asks for a password, without showing it; or reads the first line of what is piped in. */

import { Writable } from 'node:stream';
import { UsageError } from '../text/option-values.ts';
import type { CliContext } from './context.ts';

/** Longest input that is read, characters. */
const MAX_CHARS = 4096;

/** Reads a password from the terminal or from standard input. @param prompt words before the cursor */
export async function typedPassword(
  { stdin, stderr, signal }: Pick<CliContext, 'stdin' | 'stderr' | 'signal'>,
  prompt: string,
): Promise<string> {
  if ((stdin as { isTTY?: boolean }).isTTY !== true) return firstLine(stdin);
  const { createInterface } = await import('node:readline/promises');
  stderr.write(prompt);
  const silent = new Writable({ write: (_piece, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: true });
  try {
    return await lines.question('', { signal });
  } finally {
    lines.close();
    stderr.write('\n');
  }
}

async function firstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const piece of stdin) {
    text += String(piece);
    if (text.includes('\n')) break;
    if (text.length > MAX_CHARS) throw new UsageError('the password is too long');
  }
  return (text.split('\n', 1)[0] as string).replace(/\r$/, '');
}
