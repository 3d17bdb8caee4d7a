/** Questions to the user at a terminal. */

import type { CliContext } from './context.ts';

/** Returns true where a user can see a question and answer it. */
export function isPerson({ stdin, stdout }: Pick<CliContext, 'stdin' | 'stdout'>): boolean {
  return stdout.isTTY === true && (stdin as { isTTY?: boolean }).isTTY === true;
}

/** Asks a question. @returns true for yes; anything else is no. @throws the signal's reason */
export async function confirmed(context: CliContext, question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: context.stdin, output: context.stdout });
  try {
    const answer = await lines.question(`${question} [y/N] `, { signal: context.signal });
    return /^\s*y(?:es)?\s*$/i.test(answer);
  } finally {
    lines.close();
  }
}
